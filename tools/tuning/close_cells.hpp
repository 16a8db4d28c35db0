#pragma once

#include <map>
#include <string>
#include <vector>

#include "results/sweep_results.hpp"

namespace tutti::tools {

/// By backend, the cells in which the runs do not tell whether it or another backend is the fastest: the two are within
/// 10 %, and the intervals that hold their medians overlap. Needs two runs at least.
[[nodiscard]] std::map<std::string, std::vector<SweepCell>> close_cells(const SweepResults& results);

}  // namespace tutti::tools
