#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/html/html_model.hpp"

namespace tutti::tools {

// The parts of the page, each as HTML; empty when the files hold nothing for it.

/// Number of cells, of failures, and of cells in which each backend is the fastest.
[[nodiscard]] std::string summary_html(const ReportModel& model);
/// The fastest backend of each operation by size.
[[nodiscard]] std::string winners_html(const ReportModel& model);
/// Ratios to the first file, and the differences beyond the noise.
[[nodiscard]] std::string changes_html(const ReportModel& model);
/// Operations that are slower than a combination of others.
[[nodiscard]] std::string guidelines_html(const ReportModel& model);
/// Throughput, speed-up and efficiency of cells that were measured with several numbers of ranks.
[[nodiscard]] std::string scaling_html(const ReportModel& model);
/// Time and bandwidth of each backend by size, with the fastest.
[[nodiscard]] std::string times_html(const ReportModel& model, const ReportPanel& panel);
/// Time of each rank by size.
[[nodiscard]] std::string heat_html(const ReportModel& model, const ReportPanel& panel);
/// Every number of the panel's rows as the JSON file has it.
[[nodiscard]] std::string numbers_html(const ReportModel& model, const ReportPanel& panel);
/// Failed and missing cells with the reasons, backends that are not usable, and notes.
[[nodiscard]] std::string failures_html(const ReportModel& model);
/// Machine, settings and backends of each file.
[[nodiscard]] std::string environment_html(const ReportModel& model);

/// CPU, cores, host and kind of memory, as far as the file has them.
[[nodiscard]] std::string machine_text(const SweepResults& results);
/// Marker and name of a backend, in its colour.
[[nodiscard]] std::string backend_html(std::size_t backend, std::string_view name);
/// A table that the page's script sorts. `head` and `body` are rows.
[[nodiscard]] std::string table_html(std::string_view css, std::string_view head, std::string_view body);
/// A section with a title; empty without content.
[[nodiscard]] std::string section_html(std::string_view id, std::string_view title, std::string_view content);

}  // namespace tutti::tools
