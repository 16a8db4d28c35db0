#pragma once

#include <string>
#include <vector>

#include "faults/campaign/verdict/journal.hpp"

namespace tutti::test::campaign {

/// Table of fault and backend against the counts of verdicts, with a line of sums; Markdown, as in docs/reliability.md.
[[nodiscard]] std::string summary_table(const std::vector<Entry>& entries);

/// Whether any run has a bad verdict.
[[nodiscard]] bool has_bad(const std::vector<Entry>& entries);

/// "run 17 (native, kill): hang: rank 2 ...; again with: campaign --seed 1 --only 17 ...".
[[nodiscard]] std::string describe(const Entry& entry);

}  // namespace tutti::test::campaign
