#pragma once

#include <optional>
#include <string>

#include "launch/event_loop.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// Standard input for a process in another process group. A terminal stops a background group that reads from it, so
/// terminal input is read here and passed on through a pipe. Any other input is handed over as it is.
class InputPump {
 public:
  explicit InputPump(EventLoop& loop);
  ~InputPump();
  InputPump(const InputPump&) = delete;
  InputPump& operator=(const InputPump&) = delete;

  /// Descriptor that the process reads from; -1 when standard input is closed.
  [[nodiscard]] int descriptor() const noexcept;
  /// Call once the process has been started.
  void started() noexcept { reader_.reset(); }

  /// Time of the next tick(); nothing when none is needed.
  [[nodiscard]] std::optional<Clock::time_point> deadline() const noexcept { return retry_at_; }
  /// Resumes reading when deadline() has passed.
  void tick();

 private:
  void pump();
  void pause();

  EventLoop& loop_;
  bool pumps_;
  spi::FileDescriptor reader_;
  spi::FileDescriptor writer_;
  std::string pending_;
  std::optional<Clock::time_point> retry_at_;
};

}  // namespace tutti::tools
