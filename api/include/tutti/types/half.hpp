#pragma once

#include <bit>
#include <cstdint>

namespace tutti {

/// IEEE 754 binary16 as storage: 16 bits and conversions. Arithmetic is done in float; reductions accumulate in
/// float32.
struct float16 {
  std::uint16_t bits;

  float16() = default;
  explicit constexpr float16(float value) noexcept : bits(round(value)) {}
  explicit constexpr operator float() const noexcept { return widen(bits); }

  [[nodiscard]] static constexpr float16 from_bits(std::uint16_t bits) noexcept {
    float16 result{};
    result.bits = bits;
    return result;
  }

  friend constexpr bool operator==(float16 a, float16 b) noexcept { return float(a) == float(b); }

 private:
  [[nodiscard]] static constexpr float widen(std::uint16_t half) noexcept {
    const std::uint32_t sign = std::uint32_t(half & 0x8000u) << 16;
    const std::uint32_t exponent = (half >> 10) & 0x1Fu;
    const std::uint32_t mantissa = half & 0x3FFu;
    if (exponent == 0x1F) {  // a NaN is made quiet, as the hardware conversion does
      const std::uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
      return std::bit_cast<float>(sign | 0x7F800000u | quiet | (mantissa << 13));
    }
    if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
    const float subnormal = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -subnormal : subnormal;
  }

  // Round to nearest, ties to even, as the hardware conversion does.
  [[nodiscard]] static constexpr std::uint16_t round(float value) noexcept {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((word >> 16) & 0x8000u);
    const std::uint32_t magnitude = word & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return static_cast<std::uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x3FFu));
    if (magnitude >= 0x477FF000u) return static_cast<std::uint16_t>(sign | 0x7C00u);  // rounds to infinity
    if (magnitude < 0x38800000u) {  // subnormal half: let a float addition do the rounding
      const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
      return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3F000000u));
    }
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xFFFu + odd) >> 13));
  }
};

/// The upper half of a float32 as storage: 16 bits and conversions. Arithmetic is done in float.
struct bfloat16 {
  std::uint16_t bits;

  bfloat16() = default;
  explicit constexpr bfloat16(float value) noexcept : bits(round(value)) {}
  explicit constexpr operator float() const noexcept { return std::bit_cast<float>(std::uint32_t(bits) << 16); }

  [[nodiscard]] static constexpr bfloat16 from_bits(std::uint16_t bits) noexcept {
    bfloat16 result{};
    result.bits = bits;
    return result;
  }

  friend constexpr bool operator==(bfloat16 a, bfloat16 b) noexcept { return float(a) == float(b); }

 private:
  // Round to nearest, ties to even; a NaN stays a (quiet) NaN.
  [[nodiscard]] static constexpr std::uint16_t round(float value) noexcept {
    const std::uint32_t word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<std::uint16_t>((word >> 16) | 0x40u);
    return static_cast<std::uint16_t>((word + 0x7FFFu + ((word >> 16) & 1u)) >> 16);
  }
};

static_assert(sizeof(float16) == 2 && sizeof(bfloat16) == 2);

}  // namespace tutti
