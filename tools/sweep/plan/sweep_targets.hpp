#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/launch_target.hpp"
#include "results/sweep_results.hpp"
#include "sweep/plan/sweep_options.hpp"

namespace tutti::tools {

/// The backends to measure, which are added to the results; the others that were asked for are added with the reason.
[[nodiscard]] std::vector<LaunchTarget> choose_targets(const SweepOptions& options, SweepResults& results);

/// "CPU, 2 cores, AVX2"
[[nodiscard]] std::string machine_line(const SweepHead& head);

/// Name of a file for the results of a sweep that was interrupted, from the time when it began.
[[nodiscard]] std::string partial_name(const SweepHead& head);

}  // namespace tutti::tools
