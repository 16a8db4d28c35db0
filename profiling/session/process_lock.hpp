#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace tutti::profiling {

/// A lock that is free when all its bytes are zero, so that it can live in memory that a forked child gets wiped: no
/// child begins with a lock whose holder it does not have.
class ProcessLock {
 public:
  void lock() noexcept {
    std::uint32_t free = 0;
    if (word_.compare_exchange_strong(free, 1, std::memory_order_acquire)) return;
    // 2 tells the holder that somebody sleeps.
    while (word_.exchange(2, std::memory_order_acquire) != 0) futex(FUTEX_WAIT_PRIVATE, 2);
  }
  void unlock() noexcept {
    if (word_.exchange(0, std::memory_order_release) == 2) futex(FUTEX_WAKE_PRIVATE, 1);
  }

 private:
  void futex(int operation, std::uint32_t value) noexcept {
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word_), operation, value, nullptr, nullptr, 0);
  }

  std::atomic<std::uint32_t> word_{0};
  static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
};

}  // namespace tutti::profiling
