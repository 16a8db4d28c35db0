#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "tutti/types/buffer.hpp"
#include "tutti/types/data_type.hpp"
#include "tutti/types/reduction.hpp"

namespace tutti::test {

/// Kind of values in a buffer; each kind makes the expected result of some operations well defined.
enum class Values : std::uint8_t {
  bits,     ///< any bit pattern, NaNs included: for operations that only move data, and for integers, which wrap
  whole,    ///< small whole numbers: sums of up to 7 ranks are exact in every floating type
  factors,  ///< 1, 2 and -1: products of up to 7 ranks are exact in every floating type
  real,     ///< between -2 and 2: results are compared with a tolerance
  truth,    ///< half of them zero: for logical reductions
};

/// The data of all ranks in one case. Every element is a pure function of seed, rank and index, so each rank can
/// compute the data of all other ranks without communicating.
struct Pattern {
  std::uint64_t seed = 0;
  DataType type = DataType::uint8;
  Values values = Values::bits;
};

/// Mixes the bits of a 64-bit number (the finaliser of splitmix64).
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// Mixes several numbers into one.
template <typename... More>
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t first, More... more) noexcept {
  return mix(mix(first) ^ mix(static_cast<std::uint64_t>(more)...));
}

/// Pseudo-random numbers; ranks that start with the same seed get the same sequence.
class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) noexcept : state_(mix(seed)) {}
  constexpr std::uint64_t operator()() noexcept { return mix(state_++); }
  /// A number in 0 .. bound-1.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept { return (*this)() % bound; }
  constexpr bool coin() noexcept { return ((*this)() & 1u) != 0; }

 private:
  std::uint64_t state_;
};

/// Element `index` of `rank`'s data.
template <typename T>
[[nodiscard]] T element(const Pattern& pattern, int rank, std::uint64_t index) noexcept {
  const std::uint64_t place = (static_cast<std::uint64_t>(rank) << 56) ^ (index * 0xD1342543DE82EF95u);
  const std::uint64_t word = mix(pattern.seed ^ place);
  if (pattern.values == Values::bits || (std::is_integral_v<T> && pattern.values != Values::truth)) {
    T value;
    std::memcpy(static_cast<void*>(&value), &word, sizeof(T));
    return value;
  }
  if constexpr (std::is_integral_v<T>) {
    return (word & 1u) != 0 ? static_cast<T>(0) : static_cast<T>(word >> 8);
  } else {
    const auto number = [](double value) {
      if constexpr (std::is_same_v<T, double>)
        return value;
      else
        return T(static_cast<float>(value));
    };
    switch (pattern.values) {
      case Values::factors:
        // Only ranks below 8 contribute a 2, so that the product stays below the largest float8_e4m3.
        return number((word % 3 == 0) ? 1.0 : (word % 3 == 1 && rank < 8) ? 2.0 : -1.0);
      case Values::real:
        return number(static_cast<double>(static_cast<std::int64_t>(word) >> 11) * 0x1p-51);
      default:
        // With 3 significant bits 8 is the last of the whole numbers that have no gap.
        if constexpr (sizeof(T) == 1) return number(static_cast<double>(word % 3) - 1.0);
        return number(static_cast<double>(word % 17) - 8.0);
    }
  }
}

/// Writes elements `first` ... of `rank`'s data; unaligned memory is fine.
void fill(const Pattern& pattern, int rank, std::uint64_t first, const Buffer& out);

/// First element that differs from its expected value.
struct Mismatch {
  std::uint64_t index;
  std::string got;
  std::string expected;
};

}  // namespace tutti::test
