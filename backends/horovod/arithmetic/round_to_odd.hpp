#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace tutti::horovod {

/// The float32 next to a float64, of odd mantissa unless it is exact. Rounding it again to float16 or bfloat16 gives
/// the same as rounding the float64 once.
[[nodiscard]] inline float round_to_odd(double value) noexcept {
  const auto near = static_cast<float>(value);
  if (static_cast<double>(near) == value || std::isnan(value)) return near;
  auto bits = std::bit_cast<std::uint32_t>(near);
  // One step towards zero if it was rounded away; an infinity becomes the largest finite number.
  if (std::fabs(static_cast<double>(near)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

}  // namespace tutti::horovod
