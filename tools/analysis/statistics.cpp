#include "analysis/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tutti::tools {
namespace {

/// Probability of `k` heads in `n` throws of a coin; by logarithms, because 0.5^n is 0 for a thousand throws.
double binomial_half(std::size_t n, std::size_t k) {
  const auto log_factorial = [](std::size_t number) { return std::lgamma(static_cast<double>(number) + 1); };
  return std::exp(log_factorial(n) - log_factorial(k) - log_factorial(n - k) - static_cast<double>(n) * std::log(2.0));
}

}  // namespace

double percentile(std::span<const double> samples, double fraction) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const double rank = std::ceil(fraction * static_cast<double>(sorted.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

double median(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

MedianInterval median_interval(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::ranges::sort(sorted);
  const std::size_t n = sorted.size();
  // The number of samples below the median has a binomial distribution: `outside` is the probability of at most `skip`
  // of n on one side.
  double outside = binomial_half(n, 0);
  MedianInterval interval{sorted.front(), sorted.back(), 1 - 2 * outside};
  for (std::size_t skip = 1; 2 * skip + 1 < n; ++skip) {
    outside += binomial_half(n, skip);
    if (1 - 2 * outside < 0.95) break;
    interval = {sorted[skip], sorted[n - 1 - skip], 1 - 2 * outside};
  }
  interval.confidence = std::max(interval.confidence, 0.0);
  return interval;
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
