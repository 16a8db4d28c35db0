#include "sweep/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tutti::tools {

double percentile(std::span<const double> samples, double fraction) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const double rank = std::ceil(fraction * static_cast<double>(sorted.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

std::vector<double> slowest_per_iteration(std::span<const std::vector<double>> ranks) {
  if (ranks.empty()) return {};
  std::vector<double> slowest = ranks.front();
  for (const std::vector<double>& times : ranks) {
    if (times.size() != slowest.size()) return {};
    for (std::size_t i = 0; i < times.size(); ++i) slowest[i] = std::max(slowest[i], times[i]);
  }
  return slowest;
}

}  // namespace tutti::tools
