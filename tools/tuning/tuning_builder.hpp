#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "results/sweep_results.hpp"
#include "tutti/composition.hpp"
#include "tutti/tuning.hpp"

namespace tutti::tools {

/// A composition is used where it takes less than the fastest backend's own operation by this factor.
inline constexpr double kCompositionGain = 1.1;

/// A composition that may be worth its use, of one backend at one size.
struct ComposedCell {
  SweepCell cell = {};  ///< of the operation that it replaces
  std::string backend;
  Composition composition = Composition::none;
  std::uint64_t bytes = 0;                  ///< message size
  double time_us = 0;                       ///< of its parts together, or as measured
  std::vector<double> run_medians_us = {};  ///< as measured

  friend bool operator==(const ComposedCell&, const ComposedCell&) = default;
};

/// The compositions whose parts together, in the results, take less than any backend's own operation by
/// kCompositionGain, and less than that of their backend beyond the noise.
[[nodiscard]] std::vector<ComposedCell> promising_compositions(const SweepResults& results);

/// The tuning table that the results of one machine teach: per operation, kind of memory, class of types and number of
/// ranks, ranges of sizes with the fastest backend. A range ends at the geometric mean of the two sizes between which
/// the fastest backend changes; a backend that is slower by no more than the noise keeps its range. `composed`: what
/// compositions of the first results' kind were found to take when measured. Throws
/// Error{config} if the results are of different machines, name no machine or have no successful cell.
[[nodiscard]] TuningTable build_tuning(std::span<const SweepResults> results,
                                       std::span<const ComposedCell> composed = {});

/// The text of the tuning file that a sweep teaches. Throws as build_tuning().
[[nodiscard]] std::string tuning_text(const SweepResults& results);

}  // namespace tutti::tools
