#include "core_spread.hpp"

namespace tutti::native {

bool CoreSpread::shares_core() noexcept {
  announce();
  for (int r = 0; r < rank_; ++r) {
    if (layout_.control(r).core.load(std::memory_order_relaxed) == core_) return true;
  }
  return false;
}

void CoreSpread::move() noexcept {
  const auto now = std::chrono::steady_clock::now();
  if (now - moved_ < kInterval) return;  // the other ranks may not have announced their new cores yet
  moved_ = now;
  api::CoreSet free = api::usable_cores();
  for (int r = 0; r < static_cast<int>(layout_.geometry().ranks); ++r) {
    const std::int32_t core = layout_.control(r).core.load(std::memory_order_relaxed);
    if (core < 0 || static_cast<std::size_t>(core) >= free.size() * 64) continue;
    free[static_cast<std::size_t>(core) / 64] &= ~(std::uint64_t{1} << core % 64);
  }
  api::visit_cores(free);
  announce();
}

}  // namespace tutti::native
