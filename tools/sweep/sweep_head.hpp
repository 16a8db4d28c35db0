#pragma once

#include "machine.hpp"
#include "results/sweep_results.hpp"
#include "sweep/sweep_runner.hpp"

namespace tutti::tools {

/// The head of the results of a sweep that begins now. Its settings are those of `settings`, then the settings of tutti
/// that the environment has, as "TUTTI_NAME=value".
[[nodiscard]] SweepHead make_head(const MachineInfo& machine, const SweepSettings& settings);

}  // namespace tutti::tools
