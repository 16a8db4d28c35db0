#include "analysis/noise.hpp"

#include <algorithm>
#include <vector>

namespace tutti::tools {
namespace {

constexpr std::size_t kFewestRuns = 3;
constexpr double kConfidence = 0.95;

/// Samples to leave out at either end so that the others still hold the median with kConfidence. Each sample is below
/// the median with probability 1/2, so that the number of those below it follows the binomial distribution.
std::size_t samples_to_leave_out(std::size_t count) {
  double term = 1;
  for (std::size_t i = 0; i < count; ++i) term /= 2;
  double outside = 2 * term;
  std::size_t left_out = 0;
  for (std::size_t i = 1; i < count / 2; ++i) {
    term *= static_cast<double>(count - i + 1) / static_cast<double>(i);
    outside += 2 * term;
    if (outside > 1 - kConfidence) break;
    left_out = i;
  }
  return left_out;
}

NoiseRange widened(NoiseRange range, double median) {
  return {.low_us = std::min(range.low_us, median * (1 - kAssumedSpread)),
          .high_us = std::max(range.high_us, median * (1 + kAssumedSpread))};
}

}  // namespace

NoiseRange median_interval(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const std::size_t left_out = samples_to_leave_out(sorted.size());
  return {.low_us = sorted[left_out], .high_us = sorted[sorted.size() - 1 - left_out]};
}

NoiseRange noise_range(const SweepRow& row) {
  const double median = row.time_us_p50;
  if (row.run_medians_us.size() >= kFewestRuns) {
    const NoiseRange range = median_interval(row.run_medians_us);
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
