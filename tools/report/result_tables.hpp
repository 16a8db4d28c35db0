#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/named_results.hpp"
#include "report/report_table.hpp"

namespace tutti::tools {

/// Host, CPU, version and time of each file.
[[nodiscard]] ReportTable environment_table(std::span<const NamedResults> files);

/// Version, library, launcher and settings of each backend.
[[nodiscard]] ReportTable backend_table(const SweepResults& results);

/// Per operation, type, ranks and place: sizes down, the times of the backends across, and the fastest backend with its
/// margin. With a baseline every other backend has its speed-up against it.
[[nodiscard]] std::vector<ReportTable> time_tables(const SweepResults& results, const std::string& baseline);

/// Performance guidelines that a library breaks.
[[nodiscard]] ReportTable guideline_table(const SweepResults& results);

/// Per operation and type: throughput, speed-up and efficiency by ranks. None with one number of ranks.
[[nodiscard]] std::vector<ReportTable> scaling_tables(const SweepResults& results);

/// Per operation and type: steps of a computation and the operation by ranks, beside the computation alone. None
/// without steps.
[[nodiscard]] std::vector<ReportTable> step_tables(const SweepResults& results);

/// Cells that failed, were not measured or not counted, and unusable backends, with the reasons.
[[nodiscard]] ReportTable trouble_table(const SweepResults& results);

}  // namespace tutti::tools
