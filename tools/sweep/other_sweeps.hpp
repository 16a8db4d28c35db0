#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "launch/event_loop.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// Detects other sweeps on this host, of any user, that run at the same time: they disturb each other's times. Each
/// sweep listens on an abstract socket, which leaves no file, and connects to those of the sweeps that run already.
class OtherSweeps {
 public:
  /// `loop` must outlive the object.
  explicit OtherSweeps(EventLoop& loop);
  ~OtherSweeps();
  OtherSweeps(const OtherSweeps&) = delete;
  OtherSweeps& operator=(const OtherSweeps&) = delete;

  /// Processes of the sweeps that ran when this one began, and of those that began since; 0 for a process of another
  /// container.
  [[nodiscard]] const std::vector<pid_t>& processes() const noexcept { return processes_; }

 private:
  void find_earlier();
  void accept_later();

  EventLoop& loop_;
  std::string name_;
  spi::FileDescriptor listener_;  ///< none where sockets are not allowed
  std::vector<pid_t> processes_;
};

}  // namespace tutti::tools
