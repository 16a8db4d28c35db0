#pragma once

#include <sys/types.h>

#include <map>
#include <optional>

#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// Returns children in the order in which they ended. waitpid() does not: of several ended children it returns the one
/// that was started first.
class ExitOrder {
 public:
  /// Throws Error{system}.
  ExitOrder();
  /// Adds a child that has not been waited for. Without pidfd_open (before Linux 5.3) the child is left out of the
  /// order.
  void add(pid_t child);
  /// Removes and returns the added child that ended first; nothing when none has ended.
  [[nodiscard]] std::optional<pid_t> take();

 private:
  spi::FileDescriptor ended_;  // epoll lists descriptors in the order in which they became ready
  std::map<pid_t, spi::FileDescriptor> children_;
};

}  // namespace tutti::tools
