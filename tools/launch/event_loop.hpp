#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <optional>

#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

using Clock = std::chrono::steady_clock;

/// Calls back when descriptors become readable. All callbacks run in the thread that calls wait().
class EventLoop {
 public:
  /// Calls `ready` whenever the descriptor is readable or its other end is closed. The caller keeps the ownership of
  /// the descriptor.
  void watch(int descriptor, std::function<void()> ready);
  /// Stops watching the descriptor. May be called from within a callback.
  void forget(int descriptor);
  /// Blocks until an event or `deadline` (without one: until an event) and calls back for all ready descriptors.
  void wait(std::optional<Clock::time_point> deadline);

 private:
  std::map<int, std::function<void()>> watched_;
};

/// Blocks SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2 and SIGCHLD during its lifetime; the loop
/// delivers them as calls of `handler`. Create it before the first thread: an older thread would not have the signals
/// blocked. The constructor throws Error{system}.
class SignalWatch {
 public:
  SignalWatch(EventLoop& loop, std::function<void(int)> handler);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// Whether the signal that the handler is called for came from a key of the terminal, which sends it to all processes
  /// of the foreground, and not from a process.
  [[nodiscard]] bool is_from_terminal() const noexcept { return is_from_terminal_; }

 private:
  EventLoop& loop_;
  spi::FileDescriptor descriptor_;
  bool is_from_terminal_ = false;
  sigset_t previous_;
};

}  // namespace tutti::tools
