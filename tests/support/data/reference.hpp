#pragma once

#include <optional>
#include <string>

#include "support/data/pattern.hpp"
#include "tutti/reduction.hpp"

namespace tutti::test {

/// How inputs of all ranks become an expected element.
struct ReferenceReduction {
  Reduction reduction = Reduction::sum;
  double prescale = 1.0;
  int ranks = 1;
};

/// The values for which the result of a reduction is well defined: exact where `real` is false.
[[nodiscard]] Values values_for(Reduction reduction, DataType type, bool real) noexcept;

/// Compares `got` with elements `first` ... of the reduction of all ranks' data, serially computed. Integers, and
/// floating types with exact values, must be equal bit for bit; `average` may differ by one rounding; real values by
/// what the order of the operations may change.
[[nodiscard]] std::optional<Mismatch> compare_reduced(const Pattern& pattern, const ReferenceReduction& reduction,
                                                      std::uint64_t first, const ConstBuffer& got);

/// Compares `got` bit for bit with elements `first` ... of one rank's data.
[[nodiscard]] std::optional<Mismatch> compare_copy(const Pattern& pattern, int rank, std::uint64_t first,
                                                   const ConstBuffer& got);

}  // namespace tutti::test
