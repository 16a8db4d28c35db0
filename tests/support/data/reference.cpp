#include "support/data/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

namespace tutti::test {
namespace {

template <typename T>
T load(const void* data, std::uint64_t index) noexcept {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data) + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
std::string text(T value) {
  std::ostringstream out;
  out.precision(17);
  if constexpr (std::is_integral_v<T>)
    out << +value;
  else if constexpr (!std::is_arithmetic_v<T>)
    out << float(value);
  else
    out << value;
  return out.str();
}

// The distance between 1 and the next number.
template <typename T>
constexpr double kEpsilon = std::is_same_v<T, float8_e4m3>   ? 0x1p-3
                            : std::is_same_v<T, float8_e5m2> ? 0x1p-2
                            : std::is_same_v<T, float16>     ? 0x1p-10
                            : std::is_same_v<T, bfloat16>    ? 0x1p-7
                            : std::is_same_v<T, float>       ? 0x1p-23
                                                             : 0x1p-52;

// The smallest number above 0.
template <typename T>
constexpr double kTiny = std::is_same_v<T, float8_e4m3>   ? 0x1p-9
                         : std::is_same_v<T, float8_e5m2> ? 0x1p-16
                         : std::is_same_v<T, float16>     ? 0x1p-24
                         : std::is_same_v<T, bfloat16>    ? 0x1p-133
                         : std::is_same_v<T, float>       ? 0x1p-149
                                                          : 0x1p-1074;

// Computes in an unsigned type at least as wide as int, where overflow wraps and is defined.
template <typename T>
T combine_integers(Reduction reduction, T a, T b) noexcept {
  using Wide = std::conditional_t<(sizeof(T) < 8), std::uint32_t, std::uint64_t>;
  const auto x = static_cast<Wide>(a);
  const auto y = static_cast<Wide>(b);
  switch (reduction) {
    case Reduction::sum:
    case Reduction::average:
      return static_cast<T>(x + y);
    case Reduction::product:
      return static_cast<T>(x * y);
    case Reduction::min:
      return std::min(a, b);
    case Reduction::max:
      return std::max(a, b);
    case Reduction::bit_and:
      return static_cast<T>(x & y);
    case Reduction::bit_or:
      return static_cast<T>(x | y);
    case Reduction::bit_xor:
      return static_cast<T>(x ^ y);
    case Reduction::logical_and:
      return static_cast<T>(a != 0 && b != 0);
    case Reduction::logical_or:
      return static_cast<T>(a != 0 || b != 0);
    case Reduction::logical_xor:
      return static_cast<T>((a != 0) != (b != 0));
  }
  return a;
}

template <typename T>
T reduce_integers(const Pattern& pattern, const ReferenceReduction& how, std::uint64_t index) noexcept {
  T result = element<T>(pattern, 0, index);
  // A logical reduction of a single rank also yields 0 or 1.
  if (how.reduction >= Reduction::logical_and) result = static_cast<T>(result != 0);
  for (int rank = 1; rank < how.ranks; ++rank) {
    result = combine_integers(how.reduction, result, element<T>(pattern, rank, index));
  }
  if (how.reduction == Reduction::average) {
    if constexpr (std::is_signed_v<T>)
      return static_cast<T>(static_cast<std::int64_t>(result) / how.ranks);
    else
      return static_cast<T>(static_cast<std::uint64_t>(result) / static_cast<std::uint64_t>(how.ranks));
  }
  return result;
}

struct Expected {
  long double value;
  long double tolerance;
};

template <typename T>
Expected reduce_reals(const Pattern& pattern, const ReferenceReduction& how, std::uint64_t index) noexcept {
  const auto input = [&](int rank) {
    const T value = element<T>(pattern, rank, index);
    if constexpr (!std::is_arithmetic_v<T>)
      return static_cast<long double>(float(value)) * how.prescale;
    else
      return static_cast<long double>(value) * how.prescale;
  };
  long double value = input(0);
  long double magnitude = std::abs(value);
  for (int rank = 1; rank < how.ranks; ++rank) {
    const long double next = input(rank);
    switch (how.reduction) {
      case Reduction::product:
        value *= next;
        magnitude = std::abs(value);
        break;
      case Reduction::min:
        value = std::min(value, next);
        magnitude = std::abs(value);
        break;
      case Reduction::max:
        value = std::max(value, next);
        magnitude = std::abs(value);
        break;
      default:
        value += next;
        magnitude += std::abs(next);
        break;
    }
  }
  if (how.reduction == Reduction::average) {
    value /= how.ranks;
    magnitude /= how.ranks;
  }
  // Sums of many ranks may have more digits than a narrow type, into which they are rounded once.
  if constexpr (!std::is_arithmetic_v<T>) {
    if (pattern.values != Values::real && how.reduction != Reduction::average)
      value = float(static_cast<T>(static_cast<float>(value)));
  }
  const bool selects = how.reduction == Reduction::min || how.reduction == Reduction::max;
  // A prescale that is no power of two rounds each contribution once more.
  const bool scaled = how.prescale != 1.0;
  if (pattern.values != Values::real || (selects && !scaled)) {
    // A scaled product may be smaller than the smallest number.
    const long double smallest = std::abs(value) < kTiny<T> ? kTiny<T> : 0;
    return {value, how.reduction == Reduction::average ? kEpsilon<T> * std::abs(value) : smallest};
  }
  // Intermediate products may be subnormal; their rounding error is then absolute, not relative to the value.
  return {value, kEpsilon<T> * magnitude * (how.ranks + (scaled ? 2 : 1)) + std::ldexp(kTiny<T>, how.ranks)};
}

template <typename T>
std::optional<Mismatch> compare_elements(const Pattern& pattern, const ReferenceReduction& how, std::uint64_t first,
                                         const ConstBuffer& got) {
  for (std::uint64_t i = 0; i < got.count; ++i) {
    const T value = load<T>(got.data, i);
    if constexpr (std::is_integral_v<T>) {
      const T expected = reduce_integers<T>(pattern, how, first + i);
      if (value != expected) return Mismatch{i, text(value), text(expected)};
    } else {
      const Expected expected = reduce_reals<T>(pattern, how, first + i);
      long double number = 0;
      if constexpr (!std::is_arithmetic_v<T>)
        number = float(value);
      else
        number = value;
      // Written so that a NaN is a mismatch.
      if (!(std::abs(number - expected.value) <= expected.tolerance)) {
        return Mismatch{
            i, text(value),
            text(static_cast<double>(expected.value)) + " +- " + text(static_cast<double>(expected.tolerance))};
      }
    }
  }
  return std::nullopt;
}

std::string hexadecimal(const std::byte* data, std::size_t bytes) {
  std::string out = "0x";
  for (std::size_t i = bytes; i-- > 0;) {
    constexpr const char* kDigits = "0123456789abcdef";
    out += kDigits[std::to_integer<unsigned>(data[i]) >> 4];
    out += kDigits[std::to_integer<unsigned>(data[i]) & 15u];
  }
  return out;
}

}  // namespace

void fill(const Pattern& pattern, int rank, std::uint64_t first, const Buffer& out) {
  visit(pattern.type, [&]<typename T>(T*) {
    for (std::uint64_t i = 0; i < out.count; ++i) {
      const T value = element<T>(pattern, rank, first + i);
      std::memcpy(static_cast<std::byte*>(out.data) + i * sizeof(T), &value, sizeof(T));
    }
  });
}

Values values_for(Reduction reduction, DataType type, bool real) noexcept {
  if (!is_floating(type)) return reduction >= Reduction::logical_and ? Values::truth : Values::bits;
  if (real || reduction == Reduction::min || reduction == Reduction::max) return Values::real;
  return reduction == Reduction::product ? Values::factors : Values::whole;
}

std::optional<Mismatch> compare_reduced(const Pattern& pattern, const ReferenceReduction& reduction,
                                        std::uint64_t first, const ConstBuffer& got) {
  return visit(pattern.type, [&]<typename T>(T*) { return compare_elements<T>(pattern, reduction, first, got); });
}

std::optional<Mismatch> compare_copy(const Pattern& pattern, int rank, std::uint64_t first, const ConstBuffer& got) {
  return visit(pattern.type, [&]<typename T>(T*) -> std::optional<Mismatch> {
    const auto* bytes = static_cast<const std::byte*>(got.data);
    for (std::uint64_t i = 0; i < got.count; ++i) {
      const T expected = element<T>(pattern, rank, first + i);
      if (std::memcmp(bytes + i * sizeof(T), &expected, sizeof(T)) == 0) continue;
      std::byte raw[sizeof(T)];
      std::memcpy(raw, &expected, sizeof(T));
      return Mismatch{i, hexadecimal(bytes + i * sizeof(T), sizeof(T)), hexadecimal(raw, sizeof(T))};
    }
    return std::nullopt;
  });
}

}  // namespace tutti::test
