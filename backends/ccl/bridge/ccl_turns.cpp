#include "bridge/ccl_turns.hpp"

namespace tutti::ccl {

void Turns::enter() {
  std::unique_lock lock(mutex_);
  if (last_ == std::this_thread::get_id()) return;
  const std::uint64_t ticket = next_++;
  if (serving_ == ticket) return;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  changed_.wait(lock, [&] { return serving_ == ticket; });
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void Turns::leave() {
  bool awaited = false;
  {
    const std::lock_guard lock(mutex_);
    if (last_ == std::this_thread::get_id()) return;
    ++serving_;
    awaited = serving_ != next_;
  }
  if (awaited) changed_.notify_all();
}

void Turns::close(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  if (!enabled_ || last_ != std::thread::id()) return;
  // Threads that wait already are served first, each until it leaves or gives way.
  const std::uint64_t ticket = next_++;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  changed_.wait_for(lock, patience, [&] { return serving_ == ticket; });
  // Stays in waiting_, so that a thread that is still inside gives way, and never returns.
  last_ = std::this_thread::get_id();
}

}  // namespace tutti::ccl
