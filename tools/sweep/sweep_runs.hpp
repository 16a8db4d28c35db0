#pragma once

#include <string>
#include <vector>

#include "results/sweep_results.hpp"

namespace tutti::tools {

/// Adds the row of one run to the row of the same cell, backend and number of ranks, or appends it when there is none.
/// The cell's time is then the median of the runs' medians, its shortest time that of all runs, and its 99th percentile
/// the largest of the runs'. A cell that failed in any run counts as failed.
void add_run(std::vector<SweepRow>& rows, SweepRow row);

/// Orders rows by backend, operation, number of ranks, in place or not, and size.
void sort_rows(SweepResults& results);

}  // namespace tutti::tools
