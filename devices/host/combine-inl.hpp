// Included once per instruction set, hence a toggled guard in place of `#pragma once`.
#if defined(TUTTI_HOST_COMBINE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_HOST_COMBINE_INL_HPP
#undef TUTTI_HOST_COMBINE_INL_HPP
#else
#define TUTTI_HOST_COMBINE_INL_HPP
#endif

#include <hwy/highway.h>

#if TUTTI_VECTOR_TARGET
HWY_BEFORE_NAMESPACE();
namespace tutti::host {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// An operation combines the value so far with the next one; `prepare` is applied to each input first.
struct Operation {
  template <class V>
  static HWY_INLINE V prepare(V v) { return v; }
};

struct Sum : Operation {
  template <class V>
  static HWY_INLINE V combine(V a, V b) { return hn::Add(a, b); }
};

struct Product : Operation {
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    if constexpr (sizeof(hn::TFromV<V>) == 1) {
      // There is no byte multiplication: multiply even and odd bytes as words, of which the low byte is the product.
      const hn::DFromV<V> bytes;
      const hn::RepartitionToWide<decltype(bytes)> words;
      const auto a_words = hn::BitCast(words, a);
      const auto b_words = hn::BitCast(words, b);
      const auto even = hn::And(hn::Mul(a_words, b_words), hn::Set(words, 0xFF));
      const auto odd = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(a_words), hn::ShiftRight<8>(b_words)));
      return hn::BitCast(bytes, hn::Or(even, odd));
    } else {
      return hn::Mul(a, b);
    }
  }
};

// Floats do not use the hardware minimum: its choice between zeros and its handling of NaN differ between CPUs. Here
// the first of equal values wins, and a NaN wins over everything.
struct Min : Operation {
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) return hn::IfThenElse(hn::Or(hn::Le(a, b), hn::IsNaN(a)), a, b);
    else return hn::Min(a, b);
  }
};

struct Max : Operation {
  template <class V>
  static HWY_INLINE V combine(V a, V b) {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) return hn::IfThenElse(hn::Or(hn::Ge(a, b), hn::IsNaN(a)), a, b);
    else return hn::Max(a, b);
  }
};

struct BitAnd : Operation {
  template <class V>
  static HWY_INLINE V combine(V a, V b) { return hn::And(a, b); }
};

struct BitOr : Operation {
  template <class V>
  static HWY_INLINE V combine(V a, V b) { return hn::Or(a, b); }
};

struct BitXor : Operation {
  template <class V>
  static HWY_INLINE V combine(V a, V b) { return hn::Xor(a, b); }
};

/// A bitwise operation on truth values.
template <typename Bitwise>
struct Logical : Bitwise {
  template <class V>
  static HWY_INLINE V prepare(V v) {
    const hn::DFromV<V> d;
    return hn::IfThenZeroElse(hn::Eq(v, hn::Zero(d)), hn::Set(d, 1));
  }
};

/// Replaces any NaN by the canonical quiet one. Otherwise the payload would depend on the order in which the compiler
/// passes the operands, and the NaN of an invalid operation on the CPU.
template <class V>
HWY_INLINE V canonical(V v) {
  using T = hn::TFromV<V>;
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<decltype(d)> bits;
  const auto nan = hn::BitCast(d, hn::Set(bits, static_cast<hn::TFromD<decltype(bits)>>(
                                                    sizeof(T) == 4 ? 0x7FC00000 : 0x7FF8000000000000)));
  return hn::IfThenElse(hn::IsNaN(v), nan, v);
}

}  // namespace HWY_NAMESPACE
}  // namespace tutti::host
HWY_AFTER_NAMESPACE();
#endif

#endif
