#pragma once

#include <string>
#include <string_view>

#include "replay/replay_results.hpp"
#include "report/report_printer.hpp"
#include "report/size_table.hpp"
#include "text/terminal.hpp"

namespace tutti::tools {

/// The operations of rank 0 by class of size, a table for each kind of operation, with the backends side by side, and
/// the best parameters of a search.
[[nodiscard]] std::string print_sizes(const ReplayResults& results, RateKind rate, ReportFormat format,
                                      const Terminal& terminal);

/// "hierarchical_allreduce,..." above the line of ReplayOutcome::tuned.
[[nodiscard]] std::string_view tuned_columns() noexcept;

}  // namespace tutti::tools
