#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tutti::profiling {

/// Buckets of the histograms that the recorder writes and the report reads: four per power of two.
inline constexpr std::size_t kBucketCount = 252;

/// Bucket of a value. Values below 4 have a bucket each; above, the two bits after the leading one choose among four.
[[nodiscard]] constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
  if (value < 4) return static_cast<std::size_t>(value);
  const auto exponent = static_cast<int>(std::bit_width(value)) - 1;
  return static_cast<std::size_t>(exponent - 1) * 4 + static_cast<std::size_t>(value >> (exponent - 2) & 3);
}

}  // namespace tutti::profiling
