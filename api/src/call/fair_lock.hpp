#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "tutti/spi/backend.hpp"

namespace tutti {

/// A lock that is given in the order in which it was asked for, and can be waited for until a deadline. Who lets go of
/// it and asks again comes after those who wait. (Nor would std::timed_mutex do for the thread sanitizer, which does
/// not know how the standard library waits with the steady clock.)
class FairLock {
 public:
  void lock() { (void)wait(spi::Deadline::max()); }
  [[nodiscard]] bool try_lock_until(spi::Deadline until) { return wait(until); }
  void unlock() {
    const std::scoped_lock lock(mutex_);
    is_taken_ = false;
    freed_.notify_all();
  }

 private:
  bool wait(spi::Deadline until) {
    std::unique_lock lock(mutex_);
    const char me = 0;
    queue_.push_back(&me);
    const auto is_mine = [&] { return !is_taken_ && queue_.front() == &me; };
    if (until == spi::Deadline::max()) {
      freed_.wait(lock, is_mine);
    } else if (!freed_.wait_until(lock, until, is_mine)) {
      queue_.erase(std::ranges::find(queue_, &me));
      freed_.notify_all();
      return false;
    }
    queue_.pop_front();
    is_taken_ = true;
    return true;
  }

  std::mutex mutex_;
  std::condition_variable freed_;
  std::deque<const char*> queue_;  ///< one for each who waits
  bool is_taken_ = false;
};

/// How long one thread waits for an operation before others who want the lock get it.
inline constexpr std::chrono::milliseconds kLockSlice{1};

/// Calls `attempt` with the lock held and a moment shortly after, until it says true or `until` has passed; true if it
/// did. In between others get the lock: what is waited for may depend on what another thread wants to do.
template <typename Attempt>
bool in_slices(FairLock& fair, spi::Deadline until, const Attempt& attempt) {
  while (true) {
    {
      const std::unique_lock lock(fair, until);
      if (!lock) return false;
      if (attempt(std::min(until, std::chrono::steady_clock::now() + kLockSlice))) return true;
    }
    if (std::chrono::steady_clock::now() >= until) return false;
  }
}

}  // namespace tutti
