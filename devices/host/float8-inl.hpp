// Included once per instruction set, hence a toggled guard in place of `#pragma once`.
#if defined(TUTTI_HOST_FLOAT8_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_HOST_FLOAT8_INL_HPP
#undef TUTTI_HOST_FLOAT8_INL_HPP
#else
#define TUTTI_HOST_FLOAT8_INL_HPP
#endif

#include <hwy/highway.h>

#include <bit>
#include <cstddef>
#include <cstdint>

#include "lanes-inl.hpp"
#include "tutti/types/float8.hpp"

#if TUTTI_VECTOR_TARGET
HWY_BEFORE_NAMESPACE();
namespace tutti::host {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using ByteTag = hn::Rebind<std::uint8_t, FloatTag>;
using ByteVector = hn::Vec<ByteTag>;

/// Rounds like `Format`, a detail::Float8Format, with its names.
template <class Format, bool kHasInfinity>
HWY_INLINE ByteVector round_float8(FloatVector value) {
  const hn::RebindToSigned<FloatTag> words;
  const hn::RebindToUnsigned<FloatTag> unsigned_words;
  const auto set = [&](std::uint32_t number) HWY_ATTR { return hn::Set(words, static_cast<std::int32_t>(number)); };
  const auto top = hn::BitCast(words, hn::ShiftRight<24>(hn::BitCast(unsigned_words, value)));
  const auto given = hn::And(hn::BitCast(words, value), set(0x7FFFFFFFu));
  const auto magnitude = hn::Min(given, set(Format::kLargest));
  const auto odd = hn::And(hn::ShiftRight<Format::kShift>(magnitude), set(1));
  constexpr std::uint32_t kHalf = (1u << (Format::kShift - 1)) - 1;
  const auto normal = hn::ShiftRight<Format::kShift>(hn::Add(hn::Sub(magnitude, set(Format::kRebias - kHalf)), odd));
  const auto shifted = hn::Add(hn::BitCast(FloatTag(), magnitude), hn::Set(FloatTag(), Format::kRounder));
  const auto subnormal = hn::Sub(hn::BitCast(words, shifted), set(std::bit_cast<std::uint32_t>(Format::kRounder)));
  auto result = hn::IfThenElse(hn::Lt(magnitude, set(Format::kSubnormalEnd)), subnormal, normal);
  if constexpr (kHasInfinity) {
    constexpr std::uint32_t kMost = (Format::kLargest - Format::kRebias) >> Format::kShift;
    result = hn::IfThenElse(hn::Eq(given, set(Format::kInfinite)), set(kMost + 1), result);
  }
  result = hn::IfThenElse(hn::Gt(given, set(Format::kInfinite)), set(0x7F), result);
  return hn::DemoteTo(ByteTag(), hn::Or(result, hn::And(top, set(0x80))));
}

template <>
struct NarrowFormat<float8_e4m3> {
  using Tag = ByteTag;

  static HWY_INLINE FloatVector widen(ByteVector code) {
    const auto word = hn::PromoteTo(HalfTag(), code);
    const auto sign = hn::ShiftLeft<8>(hn::And(word, hn::Set(HalfTag(), 0x80)));
    const auto magnitude = hn::ShiftLeft<7>(hn::And(word, hn::Set(HalfTag(), 0x7F)));
    // As a float16, whose exponent has a bias of 8 more.
    const auto value = hn::Mul(NarrowFormat<float16>::widen(hn::Or(sign, magnitude)), hn::Set(FloatTag(), 0x1p8F));
    const auto nan = hn::BitCast(FloatTag(), hn::Set(hn::RebindToUnsigned<FloatTag>(), 0x7FC00000u));
    const auto is_nan = hn::Eq(hn::Abs(value), hn::Set(FloatTag(), 480.0F));  // what 0x7F would be
    return hn::IfThenElse(is_nan, hn::CopySign(nan, value), value);
  }
  static HWY_INLINE ByteVector round(FloatVector value) { return round_float8<detail::Float8E4m3Format, false>(value); }
};

template <>
struct NarrowFormat<float8_e5m2> {
  using Tag = ByteTag;

  static HWY_INLINE FloatVector widen(ByteVector code) {
    return NarrowFormat<float16>::widen(hn::ShiftLeft<8>(hn::PromoteTo(HalfTag(), code)));
  }
  static HWY_INLINE ByteVector round(FloatVector value) { return round_float8<detail::Float8E5m2Format, true>(value); }
};

/// 8-bit floats are combined in float32, in four registers.
template <typename Float8>
struct Float8Lanes {
  using Tag = FloatTag;
  using Vector = FloatVector;
  static constexpr int kParts = 4;
  static constexpr std::size_t kElementBytes = 1;
  static constexpr std::size_t kPart = hn::MaxLanes(ByteTag());
  static constexpr std::size_t kBytes = kParts * kPart;

  static HWY_INLINE void load(const std::uint8_t* from, Vector* parts) {
    for (std::size_t i = 0; i < kParts; ++i) {
      parts[i] = NarrowFormat<Float8>::widen(hn::LoadU(ByteTag(), from + i * kPart));
    }
  }
  static HWY_INLINE void store(const Vector* parts, std::uint8_t* to) {
    for (std::size_t i = 0; i < kParts; ++i) {
      hn::StoreU(NarrowFormat<Float8>::round(parts[i]), ByteTag(), to + i * kPart);
    }
  }
};

template <>
struct Lanes<float8_e4m3> : Float8Lanes<float8_e4m3> {};
template <>
struct Lanes<float8_e5m2> : Float8Lanes<float8_e5m2> {};

}  // namespace HWY_NAMESPACE
}  // namespace tutti::host
HWY_AFTER_NAMESPACE();
#endif

#endif
