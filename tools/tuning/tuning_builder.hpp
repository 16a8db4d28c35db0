#pragma once

#include <span>
#include <string>

#include "results/sweep_results.hpp"
#include "tutti/tuning.hpp"

namespace tutti::tools {

/// The tuning table that the results of one machine teach: per operation, kind of memory, class of types and number of
/// ranks, ranges of sizes with the fastest backend. A range ends at the geometric mean of the two sizes between which
/// the fastest backend changes; a backend that is slower by no more than the noise keeps its range. Throws
/// Error{config} if the results are of different machines, name no machine or have no successful cell.
[[nodiscard]] TuningTable build_tuning(std::span<const SweepResults> results);

/// The text of the tuning file that a sweep teaches. Throws as build_tuning().
[[nodiscard]] std::string tuning_text(const SweepResults& results);

}  // namespace tutti::tools
