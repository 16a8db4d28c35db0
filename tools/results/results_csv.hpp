#pragma once

#include <string>

#include "results/sweep_results.hpp"

namespace tutti::tools {

/// CSV; the columns are the keys of the JSON rows.
[[nodiscard]] std::string to_csv(const SweepResults& results);

}  // namespace tutti::tools
