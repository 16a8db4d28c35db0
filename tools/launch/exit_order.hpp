#pragma once

#include <sys/types.h>

#include <map>
#include <optional>

#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// Knows which of some children ended first. waitpid() does not tell: of several that have ended since one last looked
/// it gives the one that was started first.
class ExitOrder {
 public:
  /// Throws Error{system}.
  ExitOrder();
  /// A child that nobody has waited for yet. One that the kernel does not let us watch (before Linux 5.3) has no place
  /// in the order.
  void add(pid_t child);
  /// Takes out the child that ended first of those that have; nothing when none of those in the order has.
  [[nodiscard]] std::optional<pid_t> take();

 private:
  spi::FileDescriptor ended_;  // epoll: its list of what is ready is in the order in which it became so
  std::map<pid_t, spi::FileDescriptor> children_;
};

}  // namespace tutti::tools
