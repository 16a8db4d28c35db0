#include "bridge/ccl_turns.hpp"

namespace tutti::ccl {

void Turns::enter() {
  std::unique_lock lock(mutex_);
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
    ++serving_;
    awaited = serving_ != next_;
  }
  if (awaited) changed_.notify_all();
}

}  // namespace tutti::ccl
