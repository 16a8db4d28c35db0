#pragma once

#include <span>
#include <vector>

namespace tutti::tools {

/// The sample that `fraction` of all samples do not exceed (nearest rank). `samples` need not be sorted and must not be
/// empty.
[[nodiscard]] double percentile(std::span<const double> samples, double fraction);

/// For each iteration the time of the slowest rank, which a program that waits for all ranks sees. `ranks` has one list
/// per rank; the result is empty when their lengths differ.
[[nodiscard]] std::vector<double> slowest_per_iteration(std::span<const std::vector<double>> ranks);

}  // namespace tutti::tools
