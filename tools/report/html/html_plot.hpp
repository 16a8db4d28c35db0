#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/html/html_axis.hpp"
#include "report/html/html_metrics.hpp"
#include "report/html/html_model.hpp"

namespace tutti::tools {

struct PlotPoint {
  double x = 0;
  double y = 0;
  std::string text;       ///< the value with its unit
  bool is_joined = true;  ///< a line leads here from the point before
};

struct PlotLine {
  std::string name;
  std::size_t backend = 0;  ///< chooses colour and marker
  std::size_t file = 0;     ///< chooses the dashes
  std::vector<PlotPoint> points;
};

/// A size at which a series has no result.
struct PlotGap {
  double x = 0;
  std::size_t backend = 0;
  std::string text;  ///< the series and the reason
};

/// A number by message size, both axes logarithmic, drawn as SVG and by Chart.js alike.
struct Plot {
  std::string title;
  std::string remark;
  std::string baseline;  ///< the backend whose time is 1 everywhere; empty in other plots
  Axis x;
  Axis y;
  std::vector<PlotLine> lines;
  std::vector<PlotGap> gaps;
  std::vector<std::string> zero_lines;  ///< series that are 0 at every size, which a logarithmic axis cannot show
  std::vector<std::vector<std::string>> equal_lines;  ///< series that lie upon each other, by group
};

/// Nothing when no successful row has a value above 0.
[[nodiscard]] std::optional<Plot> metric_plot(const ReportModel& model, const ReportPanel& panel, const Metric& metric);

/// Time of the baseline divided by the time of each backend, within each file. Nothing without the baseline.
[[nodiscard]] std::optional<Plot> speedup_plot(const ReportModel& model, const ReportPanel& panel,
                                               std::size_t baseline);

[[nodiscard]] std::string to_svg(const Plot& plot);
[[nodiscard]] nlohmann::ordered_json plot_json(const Plot& plot);

/// The sign of a backend in plots and legends, drawn around a point.
[[nodiscard]] std::string marker_svg(std::size_t backend, double x, double y, double radius);

}  // namespace tutti::tools
