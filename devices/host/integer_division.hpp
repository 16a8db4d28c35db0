#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace tutti::host {

// Always inlined, so that the loops are compiled for the instruction set of the kernel around them.
#define TUTTI_KERNEL_INLINE inline __attribute__((always_inline))

/// Upper half of the product of two words.
template <typename Word>
TUTTI_KERNEL_INLINE Word high_product(Word a, Word b) noexcept {
  if constexpr (sizeof(Word) == 8) {
    // By 32-bit halves and not as a 128-bit product: vector units cannot multiply wider words.
    constexpr std::uint64_t kLow = 0xFFFFFFFFu;
    const std::uint64_t low = (a & kLow) * (b & kLow);
    const std::uint64_t cross = (a >> 32) * (b & kLow) + (low >> 32);
    const std::uint64_t middle = (a & kLow) * (b >> 32) + (cross & kLow);
    return (a >> 32) * (b >> 32) + (cross >> 32) + (middle >> 32);
  } else {
    using Wide = std::conditional_t<sizeof(Word) == 4, std::uint64_t, std::uint32_t>;
    return static_cast<Word>((Wide{a} * Wide{b}) >> std::numeric_limits<Word>::digits);
  }
}

/// Exact division of many words by one divisor with a multiplication and shifts, since no vector unit divides integers.
/// T. Granlund and P. L. Montgomery, "Division by invariant integers using multiplication", PLDI 1994, figure 4.1.
template <typename Word>
class Reciprocal {
 public:
  /// Whether the constructor takes this divisor.
  [[nodiscard]] static constexpr bool accepts(std::uint64_t divisor) noexcept {
    return divisor >= 2 && (divisor >> (sizeof(Word) < 4 ? 16 : 32)) == 0;
  }

  explicit Reciprocal(std::uint64_t divisor) noexcept {
    const auto bits = static_cast<int>(std::bit_width(divisor - 1));
    const std::uint64_t excess = (std::uint64_t{1} << bits) - divisor;
    constexpr int kDigit = sizeof(Word) < 4 ? 16 : 32;
    const std::uint64_t first = (excess << kDigit) / divisor;
    if constexpr (sizeof(Word) == 8) {
      const std::uint64_t rest = (excess << kDigit) % divisor;
      multiplier_ = (first << kDigit) + (rest << kDigit) / divisor + 1;
    } else {
      multiplier_ = static_cast<Word>(first + 1);
    }
    shift_ = bits - 1;
  }

  [[nodiscard]] TUTTI_KERNEL_INLINE Word divide(Word value) const noexcept {
    const Word high = high_product(multiplier_, value);
    return static_cast<Word>(static_cast<Word>(high + (static_cast<Word>(value - high) >> 1)) >> shift_);
  }

 private:
  Word multiplier_;
  int shift_;
};

/// Divides each element, truncating toward zero. `divisor` is not 0 and may exceed the range of T.
template <typename T>
TUTTI_KERNEL_INLINE void divide_each(T* data, std::size_t count, std::uint64_t divisor) noexcept {
  static_assert(std::is_integral_v<T>);
  using Word = std::conditional_t<sizeof(T) <= 2, std::uint16_t, std::make_unsigned_t<T>>;
  const auto each = [data, count](auto divide) __attribute__((always_inline)) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<Word>(data[i]);
      if constexpr (std::is_signed_v<T>) {
        const Word sign = data[i] < 0 ? static_cast<Word>(-1) : Word{0};
        const auto magnitude = static_cast<Word>((value ^ sign) - sign);
        data[i] = static_cast<T>(static_cast<Word>((divide(magnitude) ^ sign) - sign));
      } else {
        data[i] = static_cast<T>(divide(value));
      }
    }
  };
  if (divisor == 1) return;
  if (Reciprocal<Word>::accepts(divisor) && std::has_single_bit(divisor)) {
    const int shift = std::countr_zero(divisor);
    each([shift](Word value) __attribute__((always_inline)) { return static_cast<Word>(value >> shift); });
  } else if (Reciprocal<Word>::accepts(divisor)) {
    const Reciprocal<Word> reciprocal(divisor);
    each([reciprocal](Word value) __attribute__((always_inline)) { return reciprocal.divide(value); });
  } else {
    each([divisor](Word value) { return static_cast<Word>(value / divisor); });
  }
}

}  // namespace tutti::host
