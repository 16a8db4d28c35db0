#pragma once

#include <bit>
#include <cstdint>

#include "tutti/types/half.hpp"

namespace tutti {

namespace detail {

/// Numbers that describe an 8-bit float. `kBias` is that of the exponent, `kMost` the code of the largest number.
template <int kMantissaBits, int kBias, std::uint8_t kMost, bool kHasInfinity>
struct Float8Format {
  static constexpr int kShift = 23 - kMantissaBits;
  static constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << 23;
  static constexpr std::uint32_t kInfinite = 0x7F800000u;
  /// Of a float32 that rounds to a subnormal number or 0, and of the largest number.
  static constexpr std::uint32_t kSubnormalEnd = kRebias + (1u << 23);
  static constexpr std::uint32_t kLargest = (std::uint32_t{kMost} << kShift) + kRebias;
  /// Its last bit has the weight of the smallest number, so that adding it rounds.
  static constexpr float kRounder =
      std::bit_cast<float>(static_cast<std::uint32_t>(127 + 24 - kBias - kMantissaBits) << 23);

  /// Rounds to nearest, ties to even.
  [[nodiscard]] static constexpr std::uint8_t round(float value) noexcept {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (word >> 24) & 0x80u;
    const std::uint32_t magnitude = word & 0x7FFFFFFFu;
    if (magnitude > kInfinite) return static_cast<std::uint8_t>(sign | 0x7Fu);
    if (kHasInfinity && magnitude == kInfinite) return static_cast<std::uint8_t>(sign | (kMost + 1u));
    if (magnitude >= kLargest) return static_cast<std::uint8_t>(sign | kMost);
    if (magnitude < kSubnormalEnd) {
      const float shifted = std::bit_cast<float>(magnitude) + kRounder;
      return static_cast<std::uint8_t>(
          sign | (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kRounder)));
    }
    const std::uint32_t odd = (magnitude >> kShift) & 1u;
    const std::uint32_t half = (1u << (kShift - 1)) - 1;
    return static_cast<std::uint8_t>(sign | ((magnitude - kRebias + half + odd) >> kShift));
  }
};

using Float8E4m3Format = Float8Format<3, 7, 0x7E, false>;
using Float8E5m2Format = Float8Format<2, 15, 0x7B, true>;

}  // namespace detail

/// 8-bit float with 4 bits of exponent and 3 of mantissa, the "fn" variant: up to 448, no infinities, NaN is 0x7F and
/// 0xFF. Storage and conversions; reductions accumulate in float32. A conversion from float32 rounds to nearest with
/// ties to even; larger values, and infinities, become the largest number with their sign.
struct float8_e4m3 {
  std::uint8_t bits;

  float8_e4m3() = default;
  explicit constexpr float8_e4m3(float value) noexcept : bits(detail::Float8E4m3Format::round(value)) {}
  explicit constexpr operator float() const noexcept {
    const auto sign = static_cast<std::uint32_t>(bits & 0x80u);
    const auto magnitude = static_cast<std::uint32_t>(bits & 0x7Fu);
    if (magnitude == 0x7Fu) return std::bit_cast<float>(sign << 24 | 0x7FC00000u);
    // As a float16, whose exponent has a bias of 8 more.
    return float(float16::from_bits(static_cast<std::uint16_t>(sign << 8 | magnitude << 7))) * 0x1p8F;
  }

  [[nodiscard]] static constexpr float8_e4m3 from_bits(std::uint8_t bits) noexcept {
    float8_e4m3 result{};
    result.bits = bits;
    return result;
  }

  friend constexpr bool operator==(float8_e4m3 a, float8_e4m3 b) noexcept { return float(a) == float(b); }
};

/// 8-bit float with 5 bits of exponent and 2 of mantissa, the upper half of a float16: up to 57344, with infinities.
/// Like float8_e4m3, but infinities stay infinite; finite values never become infinite.
struct float8_e5m2 {
  std::uint8_t bits;

  float8_e5m2() = default;
  explicit constexpr float8_e5m2(float value) noexcept : bits(detail::Float8E5m2Format::round(value)) {}
  explicit constexpr operator float() const noexcept {
    return float(float16::from_bits(static_cast<std::uint16_t>(bits << 8)));
  }

  [[nodiscard]] static constexpr float8_e5m2 from_bits(std::uint8_t bits) noexcept {
    float8_e5m2 result{};
    result.bits = bits;
    return result;
  }

  friend constexpr bool operator==(float8_e5m2 a, float8_e5m2 b) noexcept { return float(a) == float(b); }
};

static_assert(sizeof(float8_e4m3) == 1 && sizeof(float8_e5m2) == 1);

}  // namespace tutti
