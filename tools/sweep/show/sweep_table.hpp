#pragma once

#include <string>

#include "results/sweep_results.hpp"
#include "text/terminal.hpp"

namespace tutti::tools {

/// One table per operation: a line per size, a group of columns per backend.
[[nodiscard]] std::string to_table(const SweepResults& results, const Terminal& terminal);

}  // namespace tutti::tools
