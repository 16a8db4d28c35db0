#pragma once

#include <span>
#include <vector>

namespace tutti::tools {

/// The sample that `fraction` of all samples do not exceed (nearest rank); the samples need not be sorted. At least
/// one.
[[nodiscard]] double percentile(std::span<const double> samples, double fraction);

/// For each iteration the time of the slowest rank: what a program that waits for all of them sees. The lists, one per
/// rank, must have equal lengths; otherwise the result is empty.
[[nodiscard]] std::vector<double> slowest_per_iteration(std::span<const std::vector<double>> ranks);

}  // namespace tutti::tools
