#include "analysis/noise.hpp"

#include <algorithm>

#include "analysis/statistics.hpp"

namespace tutti::tools {
namespace {

constexpr std::size_t kFewestRuns = 3;

NoiseRange widened(NoiseRange range, double median) {
  return {.low_us = std::min(range.low_us, median * (1 - kAssumedSpread)),
          .high_us = std::max(range.high_us, median * (1 + kAssumedSpread))};
}

}  // namespace

NoiseRange noise_range(const SweepRow& row) {
  const double median = row.time_us_p50;
  if (row.run_medians_us.size() >= kFewestRuns) {
    const MedianInterval interval = median_interval(row.run_medians_us);
    const NoiseRange range = {.low_us = interval.low, .high_us = interval.high};
    return row.run_medians_us.size() >= kEnoughRuns ? range : widened(range, median);
  }
  const double low = std::min(row.time_us_min, median);
  const double high = std::max(std::min(row.time_us_p99, median + (median - low)), median);
  return widened({.low_us = low, .high_us = high}, median);
}

bool is_beyond_noise(const NoiseRange& one, const NoiseRange& other) noexcept {
  return one.high_us < other.low_us || other.high_us < one.low_us;
}

}  // namespace tutti::tools
