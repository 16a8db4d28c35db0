#pragma once

#include <optional>
#include <string>

#include "launch/event_loop.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// The standard input for a process in another process group. A terminal stops a background group that reads from it,
/// so what is typed is read here and passed on through a pipe; anything else is handed over as it is.
class InputPump {
 public:
  explicit InputPump(EventLoop& loop);
  ~InputPump();
  InputPump(const InputPump&) = delete;
  InputPump& operator=(const InputPump&) = delete;

  /// What the process reads from; -1 when there is no input.
  [[nodiscard]] int descriptor() const noexcept;
  /// To be called once the process has been started.
  void started() noexcept { reader_.reset(); }

  /// When tick() should be called.
  [[nodiscard]] std::optional<Clock::time_point> deadline() const noexcept { return retry_at_; }
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
