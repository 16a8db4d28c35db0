#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tutti/data_type.hpp"

namespace tutti {

/// How the contributions of the ranks are combined, element by element. The C API uses the same numbers.
///
/// Integer sums and products wrap around. `average` is the sum in the type's own arithmetic divided by the number of
/// ranks; integers truncate toward zero. A NaN in any contribution makes `min` and `max` NaN on the native engine (the
/// backends' READMEs say what the others do). float16 and bfloat16 are accumulated in float32 and rounded once.
/// Logical reductions treat non-zero as true and yield 0 or 1.
enum class Reduction : std::uint8_t {
  sum,
  product,
  min,
  max,
  average,
  bit_and,
  bit_or,
  bit_xor,  ///< integers only
  logical_and,
  logical_or,
  logical_xor,  ///< integers only
};

inline constexpr std::size_t kReductionCount = 11;

/// All reductions in order, for loops over them.
inline constexpr std::array<Reduction, kReductionCount> kReductions = {
    Reduction::sum,         Reduction::product,    Reduction::min,        Reduction::max,
    Reduction::average,     Reduction::bit_and,    Reduction::bit_or,     Reduction::bit_xor,
    Reduction::logical_and, Reduction::logical_or, Reduction::logical_xor};

/// The one spelling of a reduction: "sum", "logical_and", ...
[[nodiscard]] constexpr std::string_view name(Reduction reduction) noexcept {
  constexpr std::array<std::string_view, kReductionCount> names = {"sum",         "product",    "min",        "max",
                                                                   "average",     "bit_and",    "bit_or",     "bit_xor",
                                                                   "logical_and", "logical_or", "logical_xor"};
  return names[static_cast<std::size_t>(reduction)];
}

/// The reduction with that spelling, or nothing.
[[nodiscard]] constexpr std::optional<Reduction> parse_reduction(std::string_view text) noexcept {
  for (Reduction reduction : kReductions) {
    if (name(reduction) == text) return reduction;
  }
  return std::nullopt;
}

/// Whether a reduction has a meaning for a type: bitwise and logical ones are for integers.
[[nodiscard]] constexpr bool is_defined(Reduction reduction, DataType type) noexcept {
  return reduction < Reduction::bit_and || !is_floating(type);
}

}  // namespace tutti
