#pragma once

#include <optional>
#include <string>

#include "support/data/pattern.hpp"
#include "tutti/types/reduction.hpp"

namespace tutti::test {

/// Reduction that computes an expected element from the inputs of all ranks.
struct ReferenceReduction {
  Reduction reduction = Reduction::sum;
  double prescale = 1.0;
  int ranks = 1;
};

/// Values for which the result of a reduction is well defined, and exact unless `real`.
[[nodiscard]] Values values_for(Reduction reduction, DataType type, bool real) noexcept;

/// Compares `got` with elements `first` ... of the reduction of all ranks' data, computed serially. Integers, and
/// floating types with exact values, must be equal bit for bit; `average` may differ by one rounding; real values may
/// differ by the rounding errors of another order of operations.
[[nodiscard]] std::optional<Mismatch> compare_reduced(const Pattern& pattern, const ReferenceReduction& reduction,
                                                      std::uint64_t first, const ConstBuffer& got);

/// Compares `got` bit for bit with elements `first` ... of one rank's data.
[[nodiscard]] std::optional<Mismatch> compare_copy(const Pattern& pattern, int rank, std::uint64_t first,
                                                   const ConstBuffer& got);

}  // namespace tutti::test
