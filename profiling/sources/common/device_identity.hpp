#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti::profiling {

/// Identifies a device on its host by its UUID, equally in all sources: the sum of the UUID's halves, as iprof does. A
/// number makes ids of sub-devices that share their parent's UUID.
[[nodiscard]] inline std::uint64_t device_identity(const unsigned char (&uuid)[16], std::uint64_t number = 0) noexcept {
  std::uint64_t halves[2] = {};
  for (std::size_t i = 0; i < 16; ++i) halves[i / 8] |= static_cast<std::uint64_t>(uuid[i]) << (8 * (i % 8));
  const std::uint64_t sum = halves[0] + halves[1] + number * 0x9E3779B97F4A7C15U;
  return sum == 0 ? 1 : sum;  // 0 means "no device"
}

}  // namespace tutti::profiling
