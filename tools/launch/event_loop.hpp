#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <optional>

#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

using Clock = std::chrono::steady_clock;

/// Waits for descriptors and calls back; everything a launcher does happens in one thread.
class EventLoop {
 public:
  /// Calls `ready` whenever there is something to read or the other end is gone. The descriptor stays the caller's.
  void watch(int descriptor, std::function<void()> ready);
  /// May be called from within a callback.
  void forget(int descriptor);
  /// Waits for the first event, at most until `deadline`, and handles what is there.
  void wait(std::optional<Clock::time_point> deadline);

 private:
  std::map<int, std::function<void()>> watched_;
};

/// Takes SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGUSR1, SIGUSR2 and SIGCHLD out of their usual way for as long as
/// it lives: they arrive as calls of `handler` from the loop. To be made before the first thread, which would otherwise
/// not have them blocked.
class SignalWatch {
 public:
  SignalWatch(EventLoop& loop, std::function<void(int)> handler);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

 private:
  EventLoop& loop_;
  spi::FileDescriptor descriptor_;
  sigset_t previous_;
};

}  // namespace tutti::tools
