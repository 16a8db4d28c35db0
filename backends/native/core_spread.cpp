#include "core_spread.hpp"

#include <algorithm>
#include <array>

namespace tutti::native {

bool CoreSpread::is_crowded() noexcept {
  announce();
  if (core_ < 0) return false;  // unknown
  int lower = 0;
  for (int r = 0; r < rank_; ++r) {
    if (layout_.control(r).core.load(std::memory_order_relaxed) == core_) ++lower;
  }
  return lower >= most_;
}

void CoreSpread::move() noexcept {
  const Clock::time_point now = Clock::now();
  if (now - moved_ < interval_) return;
  moved_ = now;
  const api::CoreSet usable = api::usable_cores();
  const auto is_usable = [&](std::size_t core) { return (usable[core / 64] >> core % 64 & 1) != 0; };
  std::array<int, 64 * api::CoreSet().size()> others = {};
  for (int r = 0; r < static_cast<int>(layout_.geometry().ranks); ++r) {
    const std::int32_t core = layout_.control(r).core.load(std::memory_order_relaxed);
    if (r != rank_ && core >= 0 && static_cast<std::size_t>(core) < others.size()) {
      ++others[static_cast<std::size_t>(core)];
    }
  }
  int fewest = most_;  // more would not be better than here
  for (std::size_t core = 0; core < others.size(); ++core) {
    if (is_usable(core)) fewest = std::min(fewest, others[core]);
  }
  if (fewest == most_) return;
  api::CoreSet roomy = {};
  for (std::size_t core = 0; core < others.size(); ++core) {
    if (is_usable(core) && others[core] == fewest) roomy[core / 64] |= std::uint64_t{1} << core % 64;
  }
  core_before_ = core_;
  api::visit_cores(roomy);
  announce();
  on_trial_ = most_ > 1;
}

void CoreSpread::go_back() noexcept {
  const auto core = static_cast<std::size_t>(core_before_);
  api::CoreSet before = {};
  if (core / 64 < before.size()) before[core / 64] = std::uint64_t{1} << core % 64;
  api::visit_cores(before);
  announce();
}

void CoreSpread::judge(Clock::time_point begin, Clock::time_point end) noexcept {
  if (end - begin >= kTimeSlice) {
    on_trial_ = false;
    interval_ = std::min<Clock::duration>(2 * interval_, kLongestInterval);
    go_back();
  } else if (end - moved_ >= kTrial) {
    on_trial_ = false;
    interval_ = kShortestInterval;
  }
}

}  // namespace tutti::native
