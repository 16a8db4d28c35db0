#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "results/sweep_results.hpp"

namespace tutti::tools {

/// A column of the results: a key of the JSON rows, and a column of the CSV.
struct SweepColumn {
  const char* key;
  /// Null where the row has no such value, as the times of a failed cell.
  nlohmann::ordered_json (*value)(const SweepResults& results, const SweepRow& row);
};

/// All columns in their order; docs/sweep-format.md describes them.
[[nodiscard]] std::span<const SweepColumn> sweep_columns() noexcept;

}  // namespace tutti::tools
