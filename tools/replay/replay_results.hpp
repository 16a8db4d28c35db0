#pragma once

#include <string>
#include <vector>

#include "replay/replay_rows.hpp"
#include "replay/replay_runner.hpp"
#include "text/terminal.hpp"

namespace tutti::tools {

/// The profiles of a replay on all backends, beside the record.
struct ReplayResults {
  std::string title;             ///< of the record
  std::string recorded_backend;  ///< may be empty
  int ranks = 0;
  int rounds = 1;
  double gaps = 1;
  bool checked = false;
  std::vector<ReplayRow> rows;
  RecordedTotals recorded;
  std::vector<ReplayOutcome> outcomes;
  std::vector<std::pair<std::string, std::string>> unusable = {};  ///< backend and reason
};

/// Tables for people: by operation and size, totals, ranks.
[[nodiscard]] std::string to_table(const ReplayResults& results, const Terminal& terminal);
[[nodiscard]] std::string to_json(const ReplayResults& results);

}  // namespace tutti::tools
