#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "report/html/html_axis.hpp"
#include "report/html/html_model.hpp"

namespace tutti::tools {

/// A number of a row that the report plots by size.
struct Metric {
  std::string_view id;
  std::string_view title;
  std::string_view remark;  ///< unit and meaning, below the title
  Quantity quantity;
  std::optional<double> (*value)(const SweepRow& row);  ///< nothing where it was not measured
};

/// All metrics, in the order of the plots.
[[nodiscard]] std::span<const Metric> metrics();

/// Whether any successful row of the panel has a value above 0.
[[nodiscard]] bool has_values(const ReportPanel& panel, const Metric& metric);

}  // namespace tutti::tools
