#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "tutti/types/data_type.hpp"

namespace tutti {

/// Element-wise combination of the contributions of the ranks. The C API uses the same numbers.
///
/// Integer sums and products wrap around. `average` is the sum in the type's own arithmetic divided by the number of
/// ranks; integers truncate toward zero. Logical reductions treat non-zero as true and yield 0 or 1. On the native
/// engine a NaN in any contribution makes `min` and `max` NaN, and floats of 8 and 16 bits are accumulated in float32
/// and rounded once; the READMEs of the other backends describe theirs.
enum class Reduction : std::uint8_t {
  sum,
  product,
  min,
  max,
  average,
  bit_and,      ///< integers only
  bit_or,       ///< integers only
  bit_xor,      ///< integers only
  logical_and,  ///< integers only
  logical_or,   ///< integers only
  logical_xor,  ///< integers only
};

inline constexpr std::size_t kReductionCount = 11;

/// All reductions in order, for loops over them.
inline constexpr std::array<Reduction, kReductionCount> kReductions = {
    Reduction::sum,         Reduction::product,    Reduction::min,        Reduction::max,
    Reduction::average,     Reduction::bit_and,    Reduction::bit_or,     Reduction::bit_xor,
    Reduction::logical_and, Reduction::logical_or, Reduction::logical_xor};

/// Name of a reduction: "sum", "logical_and", ...
[[nodiscard]] constexpr std::string_view name(Reduction reduction) noexcept {
  constexpr std::array<std::string_view, kReductionCount> names = {"sum",         "product",    "min",        "max",
                                                                   "average",     "bit_and",    "bit_or",     "bit_xor",
                                                                   "logical_and", "logical_or", "logical_xor"};
  return names[static_cast<std::size_t>(reduction)];
}

/// The reduction with that name, or std::nullopt.
[[nodiscard]] constexpr std::optional<Reduction> parse_reduction(std::string_view text) noexcept {
  for (Reduction reduction : kReductions) {
    if (name(reduction) == text) return reduction;
  }
  return std::nullopt;
}

/// Whether a reduction is defined for a type: bitwise and logical reductions need an integer type.
[[nodiscard]] constexpr bool is_defined(Reduction reduction, DataType type) noexcept {
  return reduction < Reduction::bit_and || !is_floating(type);
}

}  // namespace tutti
