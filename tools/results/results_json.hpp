#pragma once

#include <string>

#include "results/sweep_results.hpp"

namespace tutti::tools {

/// {"backends": [...], "rows": [...]}
[[nodiscard]] std::string to_json(const SweepResults& results);

}  // namespace tutti::tools
