#include "faults/campaign/job/stall_clock.hpp"

#include <algorithm>
#include <chrono>

#include "faults/campaign/ranks/rank_report.hpp"

namespace tutti::test::campaign {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
// Shorter delays are ordinary scheduling.
constexpr std::int64_t kShortestStall = 50 * kMillisecond;

}  // namespace

StallClock::StallClock() : thread_([this](const std::stop_token& stop) { watch(stop); }) {}

void StallClock::watch(const std::stop_token& stop) {
  std::int64_t last = shared_clock_ns();
  while (!stop.stop_requested()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::int64_t now = shared_clock_ns();
    if (now - last > kShortestStall) {
      const std::lock_guard lock(mutex_);
      stalls_.push_back({last, now});
    }
    last = now;
  }
}

std::int64_t StallClock::stalled_ns(std::int64_t begin_ns, std::int64_t end_ns) const {
  const std::lock_guard lock(mutex_);
  std::int64_t sum = 0;
  for (const Stall& stall : stalls_) {
    sum += std::max<std::int64_t>(0, std::min(stall.end_ns, end_ns) - std::max(stall.begin_ns, begin_ns));
  }
  return sum;
}

}  // namespace tutti::test::campaign
