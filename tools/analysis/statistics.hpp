#pragma once

#include <span>
#include <vector>

namespace tutti::tools {

/// The sample that `fraction` of all samples do not exceed (nearest rank). `samples` need not be sorted and must not be
/// empty.
[[nodiscard]] double percentile(std::span<const double> samples, double fraction);

/// The middle sample, or the mean of the two in the middle. `samples` need not be sorted and must not be empty.
[[nodiscard]] double median(std::span<const double> samples);

/// A range that holds the median of the population that the samples come from.
struct MedianInterval {
  double low = 0;
  double high = 0;
  double confidence = 0;  ///< probability that it does

  /// Half of the width, relative to `middle`.
  [[nodiscard]] double relative(double middle) const noexcept { return (high - low) / 2 / middle; }
};

/// The narrowest interval between two samples, as far from the lowest as from the highest, whose confidence is at least
/// 95 %; from all samples when they are fewer than 6, with the lower confidence that these allow. Assumes nothing about
/// the distribution of the samples. `samples` must not be empty.
[[nodiscard]] MedianInterval median_interval(std::span<const double> samples);

/// For each iteration the time of the slowest rank, which a program that waits for all ranks sees. `ranks` has one list
/// per rank; the result is empty when their lengths differ.
[[nodiscard]] std::vector<double> slowest_per_iteration(std::span<const std::vector<double>> ranks);

}  // namespace tutti::tools
