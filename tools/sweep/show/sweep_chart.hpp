#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "results/sweep_results.hpp"
#include "text/terminal.hpp"

namespace tutti::tools {

/// Bars of the bus bandwidths so far, one per row, grouped by size: "    1 MiB  native  ######## 12.3 GB/s". With one
/// rank, which has no bus, the bandwidth of the algorithm. `rows` are those of one operation.
[[nodiscard]] std::vector<std::string> chart_lines(const std::vector<const SweepRow*>& rows, const Terminal& terminal,
                                                   std::size_t width);

/// A chart for each operation, number of ranks and place of the results.
[[nodiscard]] std::string to_chart(const SweepResults& results, const Terminal& terminal);

/// The last lines of the chart that `last` belongs to, at most `height`.
[[nodiscard]] std::vector<std::string> growing_chart(const SweepResults& results, const SweepRow& last,
                                                     const Terminal& terminal, std::size_t height);

}  // namespace tutti::tools
