#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/comparison_table.hpp"
#include "report/named_results.hpp"
#include "report/report_printer.hpp"

namespace tutti::tools {

/// Everything that `tutti report` was given.
struct ReportInput {
  std::vector<NamedResults> files;
  std::vector<ComparisonTable> imported = {};
  std::string baseline = {};                    ///< backend against which the others have speed-ups; empty: none
  std::optional<double> regression_share = {};  ///< 0.1: list cells that are slower by more than 10 %
};

/// A chapter per subject: imported tables with their doubts, what was measured, changes from the first file to the
/// others and regressions, times and winners, costs side by side, scaling, broken guidelines, failures.
[[nodiscard]] std::string full_report(const ReportInput& input, ReportFormat format, const Terminal& terminal);

/// The regressions of all files against the first, one line each; none without `regression_share`.
[[nodiscard]] std::vector<std::string> regression_lines(const ReportInput& input);

}  // namespace tutti::tools
