// Included once per instruction set, hence a toggled guard in place of `#pragma once`.
#if defined(TUTTI_HOST_LANES_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_HOST_LANES_INL_HPP
#undef TUTTI_HOST_LANES_INL_HPP
#else
#define TUTTI_HOST_LANES_INL_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "tutti/types/half.hpp"

#if TUTTI_VECTOR_TARGET
HWY_BEFORE_NAMESPACE();
namespace tutti::host {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Loads and stores of elements of type T between memory and the registers in which they are combined: a register's
/// worth of memory fills kParts registers.
template <typename T>
struct Lanes {
  using Tag = hn::ScalableTag<T>;
  using Vector = hn::Vec<Tag>;
  static constexpr int kParts = 1;
  static constexpr std::size_t kBytes = hn::MaxLanes(Tag()) * sizeof(T);
  static constexpr std::size_t kElementBytes = sizeof(T);

  static HWY_INLINE void load(const std::uint8_t* from, Vector* parts) {
    *parts = hn::LoadU(Tag(), reinterpret_cast<const T*>(from));
  }
  static HWY_INLINE void store(const Vector* parts, std::uint8_t* to) {
    hn::StoreU(*parts, Tag(), reinterpret_cast<T*>(to));
  }
  /// Non-temporal; `to` is aligned to kBytes.
  static HWY_INLINE void stream(const Vector* parts, std::uint8_t* to) {
    hn::Stream(*parts, Tag(), reinterpret_cast<T*>(to));
  }
};

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;
using HalfTag = hn::Rebind<std::uint16_t, FloatTag>;
using HalfVector = hn::Vec<HalfTag>;
using PairTag = hn::ScalableTag<std::uint16_t>;
using PairVector = hn::Vec<PairTag>;

/// widen() and round() give the bits of tutti/types/half.hpp and tutti/types/float8.hpp, NaN payloads included, and
/// keep the elements in order. split() and join() do the same for a whole register of 16-bit elements, in whatever
/// order is cheap; a NaN given to join() must be canonical.
template <typename Narrow>
struct NarrowFormat;

template <>
struct NarrowFormat<bfloat16> {
  using Tag = HalfTag;

  static HWY_INLINE FloatVector widen(HalfVector half) {
    const hn::RebindToUnsigned<FloatTag> words;
    return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(words, half)));
  }

  static HWY_INLINE HalfVector round(FloatVector value) {
    const hn::RebindToUnsigned<FloatTag> words;
    const hn::RebindToSigned<FloatTag> signed_words;
    const auto rounded = round_in_place(value);
    const auto quiet = hn::Or(hn::BitCast(words, value), hn::Set(words, 0x400000));
    const auto is_nan = hn::RebindMask(words, hn::IsNaN(value));
    const auto result = hn::ShiftRight<16>(hn::IfThenElse(is_nan, quiet, rounded));
    return hn::DemoteTo(HalfTag(), hn::BitCast(signed_words, result));
  }

  /// Even elements to the first part and odd ones to the second, which needs no lane to move.
  static HWY_INLINE void split(const std::uint16_t* from, FloatVector* parts) {
    const hn::RebindToUnsigned<FloatTag> words;
    const auto word = hn::BitCast(words, hn::LoadU(PairTag(), from));
    parts[0] = hn::BitCast(FloatTag(), hn::ShiftLeft<16>(word));
    parts[1] = hn::BitCast(FloatTag(), hn::And(word, hn::Set(words, 0xFFFF0000u)));
  }

  static HWY_INLINE PairVector join(const FloatVector* parts) {
    const auto even = hn::BitCast(PairTag(), hn::ShiftRight<16>(round_in_place(parts[0])));
    return hn::OddEven(hn::BitCast(PairTag(), round_in_place(parts[1])), even);
  }

  static HWY_INLINE void join(const FloatVector* parts, std::uint16_t* to) { hn::StoreU(join(parts), PairTag(), to); }

 private:
  static HWY_INLINE hn::Vec<hn::RebindToUnsigned<FloatTag>> round_in_place(FloatVector value) {
    const hn::RebindToUnsigned<FloatTag> words;
    const auto word = hn::BitCast(words, value);
    const auto odd = hn::And(hn::ShiftRight<16>(word), hn::Set(words, 1));
    return hn::Add(hn::Add(word, hn::Set(words, 0x7FFF)), odd);
  }
};

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2  // F16C

struct Float16Format {
  using NativeTag = hn::Rebind<hwy::float16_t, FloatTag>;

  static HWY_INLINE FloatVector widen(HalfVector half) {
    return hn::PromoteTo(FloatTag(), hn::BitCast(NativeTag(), half));
  }
  static HWY_INLINE HalfVector round(FloatVector value) {
    return hn::BitCast(HalfTag(), hn::DemoteTo(NativeTag(), value));
  }
};

#else

// Highway's own emulation neither handles infinity and NaN nor rounds subnormals to nearest.
struct Float16Format {
  using WordTag = hn::RebindToSigned<FloatTag>;

  static HWY_INLINE FloatVector widen(HalfVector half) {
    const WordTag words;
    const auto word = hn::PromoteTo(words, half);
    const auto sign = hn::ShiftLeft<16>(hn::And(word, hn::Set(words, 0x8000)));
    const auto magnitude = hn::And(word, hn::Set(words, 0x7FFF));
    const auto shifted = hn::ShiftLeft<13>(magnitude);
    const auto normal = hn::Add(shifted, hn::Set(words, 112 << 23));
    // 2^-14 * (1 + m / 1024) - 2^-14 is the subnormal m * 2^-24.
    const auto smallest = hn::Set(words, 113 << 23);
    const auto subnormal = hn::BitCast(
        words, hn::Sub(hn::BitCast(FloatTag(), hn::Add(shifted, smallest)), hn::BitCast(FloatTag(), smallest)));
    const auto infinite = hn::Add(shifted, hn::Set(words, 224 << 23));
    const auto nan = hn::Or(infinite, hn::Set(words, 0x400000));
    auto result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(words, 0x400)), subnormal, normal);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(words, 0x7BFF)), infinite, result);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(words, 0x7C00)), nan, result);
    return hn::BitCast(FloatTag(), hn::Or(result, sign));
  }

  static HWY_INLINE HalfVector round(FloatVector value) {
    const WordTag words;
    const hn::RebindToUnsigned<FloatTag> unsigned_words;
    const auto word = hn::BitCast(words, value);
    const auto sign =
        hn::And(hn::BitCast(words, hn::ShiftRight<16>(hn::BitCast(unsigned_words, value))), hn::Set(words, 0x8000));
    const auto magnitude = hn::And(word, hn::Set(words, 0x7FFFFFFF));
    const auto mantissa = hn::ShiftRight<13>(magnitude);
    const auto odd = hn::And(mantissa, hn::Set(words, 1));
    const auto normal = hn::ShiftRight<13>(hn::Add(hn::Sub(magnitude, hn::Set(words, 0x38000000 - 0xFFF)), odd));
    const auto subnormal =
        hn::Sub(hn::BitCast(words, hn::Add(hn::BitCast(FloatTag(), magnitude), hn::Set(FloatTag(), 0.5F))),
                hn::Set(words, 0x3F000000));
    const auto nan = hn::Or(hn::And(mantissa, hn::Set(words, 0x3FF)), hn::Set(words, 0x7E00));
    auto result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(words, 0x38800000)), subnormal, normal);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(words, 0x477FEFFF)), hn::Set(words, 0x7C00), result);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(words, 0x7F800000)), nan, result);
    return hn::DemoteTo(HalfTag(), hn::Or(result, sign));
  }
};

#endif

template <>
struct NarrowFormat<float16> : Float16Format {
  using Tag = HalfTag;
  static constexpr std::size_t kHalf = hn::MaxLanes(HalfTag());

  static HWY_INLINE void split(const std::uint16_t* from, FloatVector* parts) {
    parts[0] = widen(hn::LoadU(HalfTag(), from));
    parts[1] = widen(hn::LoadU(HalfTag(), from + kHalf));
  }
  static HWY_INLINE PairVector join(const FloatVector* parts) {
    return hn::Combine(PairTag(), round(parts[1]), round(parts[0]));
  }
  static HWY_INLINE void join(const FloatVector* parts, std::uint16_t* to) {
    hn::StoreU(round(parts[0]), HalfTag(), to);
    hn::StoreU(round(parts[1]), HalfTag(), to + kHalf);
  }
};

/// 16-bit floats are combined in float32, in two registers.
template <typename Half>
struct HalfLanes {
  using Tag = FloatTag;
  using Vector = FloatVector;
  static constexpr int kParts = 2;
  static constexpr std::size_t kElementBytes = sizeof(Half);
  static constexpr std::size_t kBytes = hn::MaxLanes(PairTag()) * kElementBytes;

  static HWY_INLINE void load(const std::uint8_t* from, Vector* parts) {
    NarrowFormat<Half>::split(reinterpret_cast<const std::uint16_t*>(from), parts);
  }
  static HWY_INLINE void store(const Vector* parts, std::uint8_t* to) {
    NarrowFormat<Half>::join(parts, reinterpret_cast<std::uint16_t*>(to));
  }
  static HWY_INLINE void stream(const Vector* parts, std::uint8_t* to) {
    hn::Stream(NarrowFormat<Half>::join(parts), PairTag(), reinterpret_cast<std::uint16_t*>(to));
  }
};

template <>
struct Lanes<float16> : HalfLanes<float16> {};
template <>
struct Lanes<bfloat16> : HalfLanes<bfloat16> {};

}  // namespace HWY_NAMESPACE
}  // namespace tutti::host
HWY_AFTER_NAMESPACE();
#endif

#endif
