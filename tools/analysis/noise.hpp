#pragma once

#include <cstddef>

#include "results/sweep_results.hpp"

namespace tutti::tools {

/// Range into which the median time of a cell falls when it is measured again.
struct NoiseRange {
  double low_us = 0;
  double high_us = 0;

  friend bool operator==(const NoiseRange&, const NoiseRange&) = default;
};

/// Fewest runs whose extremes hold the median with a probability of 95 %.
inline constexpr std::size_t kEnoughRuns = 6;
/// Spread that is assumed at least on either side of the median when there are fewer runs: the calls of one run do not
/// show how much runs differ.
inline constexpr double kAssumedSpread = 0.1;

/// Of a successful row. With at least 3 runs it comes from their medians. The calls of one run vary downwards from the
/// median to the minimum; the same is taken upwards, where single interrupted calls reach further, but at most to the
/// 99th percentile.
[[nodiscard]] NoiseRange noise_range(const SweepRow& row);

/// Whether two times differ beyond the noise: their ranges do not overlap.
[[nodiscard]] bool is_beyond_noise(const NoiseRange& one, const NoiseRange& other) noexcept;

}  // namespace tutti::tools
