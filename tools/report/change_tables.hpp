#pragma once

#include <span>
#include <string>
#include <vector>

#include "analysis/changes.hpp"
#include "report/named_results.hpp"
#include "report/report_table.hpp"

namespace tutti::tools {

/// Throws Error{config} when a file has no cell in common with the first one; the message lists what each one has.
void check_common_cells(std::span<const NamedResults> files);

/// Per operation, type, ranks and place: a line per size and backend with the time in the first file, and for each
/// other file the time, its ratio to the first, and the change if it is beyond the noise. Cells of the first file that
/// no other has are left out.
[[nodiscard]] std::vector<ReportTable> change_tables(std::span<const NamedResults> files);

/// "after against before: 12 cells in common, 2 slower and 1 faster beyond the noise, 1 broken"
[[nodiscard]] std::string change_summary(const NamedResults& before, const NamedResults& after);

/// A regression in one line: "allreduce, float32, 4 ranks, 1 MiB on native: 100 us before, 150 us after: 1.50 times"
[[nodiscard]] std::string regression_text(const Change& change);

}  // namespace tutti::tools
