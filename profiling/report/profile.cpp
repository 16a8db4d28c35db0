#include "report/profile.hpp"

#include <algorithm>

namespace tutti::profiling {

void Histogram::add(std::uint64_t value, std::uint64_t times) noexcept { counts_[bucket_of(value)] += times; }

void Histogram::add(const Histogram& other) noexcept {
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) counts_[bucket] += other.counts_[bucket];
}

std::uint64_t Histogram::quantile(double share) const noexcept {
  std::uint64_t all = 0;
  for (const std::uint64_t count : counts_) all += count;
  if (all == 0) return 0;
  const auto wanted = std::min(all - 1, static_cast<std::uint64_t>(share * static_cast<double>(all)));
  std::uint64_t before = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    before += counts_[bucket];
    if (before <= wanted) continue;
    if (bucket < 4) return bucket;
    const auto exponent = bucket / 4 + 1;
    const std::uint64_t width = std::uint64_t{1} << (exponent - 2);
    return (4 + bucket % 4) * width + width / 2;
  }
  return 0;
}

void Statistics::add(const Statistics& other) noexcept {
  calls += other.calls;
  errors += other.errors;
  total += other.total;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
  bytes += other.bytes;
  values.add(other.values);
}

}  // namespace tutti::profiling
