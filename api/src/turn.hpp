#pragma once

#include <condition_variable>
#include <mutex>

#include "tutti/spi/backend.hpp"

namespace tutti {

/// A lock that can be waited for until a deadline. std::timed_mutex is the same to a program, but not to the thread
/// sanitizer, which does not know how the standard library waits with the steady clock.
class Turn {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [this] { return !is_taken_; });
    is_taken_ = true;
  }
  [[nodiscard]] bool try_lock_until(spi::Deadline until) {
    std::unique_lock lock(mutex_);
    if (!freed_.wait_until(lock, until, [this] { return !is_taken_; })) return false;
    is_taken_ = true;
    return true;
  }
  void unlock() {
    const std::scoped_lock lock(mutex_);
    is_taken_ = false;
    freed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable freed_;
  bool is_taken_ = false;
};

}  // namespace tutti
