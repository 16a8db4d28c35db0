#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "analysis/winners.hpp"
#include "report/named_results.hpp"

namespace tutti::tools {

/// Results of one backend in one file, within a panel.
struct PanelSeries {
  std::size_t file = 0;
  std::size_t backend = 0;                        ///< index in ReportModel::backends
  std::map<std::uint64_t, const SweepRow*> rows;  ///< by message size; null: expected but not measured

  /// Null when there is no successful row.
  [[nodiscard]] const SweepRow* ok_row(std::uint64_t bytes) const;
};

/// One part of the report: an operation with a type and a number of ranks, at all sizes, on all backends of all files.
struct ReportPanel {
  CellKey key;                       ///< without a size
  std::vector<std::uint64_t> sizes;  ///< ascending
  std::vector<PanelSeries> series;   ///< by file, then in the order of the backends

  [[nodiscard]] std::size_t cells() const;
  [[nodiscard]] std::size_t incomplete_cells() const;  ///< that failed or were not measured
};

/// Results of several files in the order in which the report shows them. Refers to the files.
struct ReportModel {
  std::span<const NamedResults> files;
  std::vector<std::string> backends;  ///< of all files; the index chooses colour and marker
  std::vector<ReportPanel> panels;
  std::vector<std::vector<Winner>> winners;  ///< by file

  /// Null where fewer than two backends succeeded.
  [[nodiscard]] const Winner* winner(const ReportPanel& panel, std::size_t file, std::uint64_t bytes) const;

  /// Index of a backend; the number of backends when it does not occur.
  [[nodiscard]] std::size_t backend_index(const std::string& name) const;
  /// "native", with several files "native · file"
  [[nodiscard]] std::string name_of(const PanelSeries& series) const;
};

[[nodiscard]] ReportModel make_model(std::span<const NamedResults> files);

/// Number of colours, markers and dashes in report.css and report.js.
inline constexpr std::size_t kSeriesStyles = 8;

/// The key without its size, which all cells of a panel share.
[[nodiscard]] CellKey panel_key(CellKey key) noexcept;

}  // namespace tutti::tools
