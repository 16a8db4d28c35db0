#pragma once

#include <string>
#include <vector>

#include "machine.hpp"
#include "results/sweep_results.hpp"

namespace tutti::tools {

/// The head of the results of a sweep that begins now. To the settings of the command, each as "NAME=value", it adds
/// those settings of tutti that the environment has.
[[nodiscard]] SweepHead make_head(const MachineInfo& machine, std::vector<std::string> settings);

}  // namespace tutti::tools
