#pragma once

#include "call/fair_lock.hpp"

namespace tutti {

/// Work for the progress thread: an operation or a group that was taken into the order of its streams.
class ThreadJob {
 public:
  virtual ~ThreadJob() = default;
  ThreadJob(const ThreadJob&) = delete;
  ThreadJob& operator=(const ThreadJob&) = delete;

  /// Blocks until the streams have come to it.
  virtual void wait_ready() = 0;
  /// Carries it out to its end; `lock` is that of the backend.
  virtual void run(FairLock& lock) = 0;
  /// Waits for copies that an error left under way: the application's memory is its own again from now on.
  virtual void settle() noexcept = 0;
  /// Lets the streams go on.
  virtual void open_gates() noexcept = 0;
  /// Whether run() failed in a way that every later operation has to fail with.
  [[nodiscard]] virtual bool was_refused() const noexcept { return false; }
  /// Whether it exchanges messages that the caller's messages could be mistaken for.
  [[nodiscard]] virtual bool exchanges_messages() const = 0;

 protected:
  ThreadJob() = default;
};

}  // namespace tutti
