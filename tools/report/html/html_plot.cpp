#include "report/html/html_plot.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "text/text.hpp"

namespace tutti::tools {
namespace {

constexpr std::size_t kMostSizeLabels = 7;

using RowValue = std::function<std::optional<double>(const PanelSeries&, const SweepRow&)>;

PlotLine make_line(const ReportModel& model, const PanelSeries& series, Quantity quantity, const RowValue& value,
                   std::size_t& zeros) {
  PlotLine line{.name = model.name_of(series), .backend = series.backend, .file = series.file, .points = {}};
  bool is_joined = false;
  for (const auto& [bytes, row] : series.rows) {
    const SweepRow* ok = series.ok_row(bytes);
    const std::optional<double> y = ok != nullptr ? value(series, *ok) : std::nullopt;
    if (!y || bytes == 0 || *y <= 0) {
      zeros += y && *y == 0 ? 1 : 0;
      is_joined = false;
      continue;
    }
    line.points.push_back({static_cast<double>(bytes), *y, quantity_text(quantity, *y), is_joined});
    is_joined = true;
  }
  return line;
}

void add_gaps(Plot& plot, const ReportModel& model, const PanelSeries& series) {
  for (const auto& [bytes, row] : series.rows) {
    if (series.ok_row(bytes) != nullptr || bytes == 0) continue;
    plot.gaps.push_back({static_cast<double>(bytes), series.backend,
                         concat(model.name_of(series), ": ", row == nullptr ? "not measured" : row->status)});
  }
}

bool is_equal(const PlotLine& one, const PlotLine& other) {
  return std::ranges::equal(one.points, other.points, [](const PlotPoint& left, const PlotPoint& right) {
    return left.x == right.x && left.y == right.y;
  });
}

/// Groups of two or more lines of which a reader sees only the uppermost.
std::vector<std::vector<std::string>> find_equal_lines(const std::vector<PlotLine>& lines) {
  std::vector<std::vector<std::string>> groups;
  std::vector<bool> is_grouped(lines.size(), false);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> group;
    for (std::size_t j = i; j < lines.size(); ++j) {
      if (is_grouped[j] || !is_equal(lines[i], lines[j])) continue;
      is_grouped[j] = true;
      group.push_back(lines[j].name);
    }
    if (group.size() > 1) groups.push_back(std::move(group));
  }
  return groups;
}

std::optional<Plot> make_plot(const ReportModel& model, const ReportPanel& panel, Quantity quantity,
                              const RowValue& value) {
  Plot plot;
  double least = std::numeric_limits<double>::infinity();
  double largest = 0;
  for (const PanelSeries& series : panel.series) {
    std::size_t zeros = 0;
    PlotLine line = make_line(model, series, quantity, value, zeros);
    if (line.points.empty() && zeros > 0) plot.zero_lines.push_back(line.name);
    for (const PlotPoint& point : line.points) {
      least = std::min(least, point.y);
      largest = std::max(largest, point.y);
    }
    add_gaps(plot, model, series);
    if (!line.points.empty()) plot.lines.push_back(std::move(line));
  }
  if (plot.lines.empty()) return {};
  plot.equal_lines = find_equal_lines(plot.lines);
  plot.x = size_axis(panel.sizes, kMostSizeLabels);
  plot.y = value_axis(quantity, least, largest);
  return plot;
}

}  // namespace

std::optional<Plot> metric_plot(const ReportModel& model, const ReportPanel& panel, const Metric& metric) {
  auto plot = make_plot(model, panel, metric.quantity,
                        [&](const PanelSeries&, const SweepRow& row) { return metric.value(row); });
  if (!plot) return plot;
  plot->title = metric.title;
  plot->remark = metric.remark;
  return plot;
}

std::optional<Plot> speedup_plot(const ReportModel& model, const ReportPanel& panel, std::size_t baseline) {
  const auto speedup = [&](const PanelSeries& series, const SweepRow& row) -> std::optional<double> {
    const auto reference = std::ranges::find_if(panel.series, [&](const PanelSeries& other) {
      return other.file == series.file && other.backend == baseline && other.ok_row(row.bytes) != nullptr;
    });
    if (reference == panel.series.end()) return {};
    return reference->ok_row(row.bytes)->time_us_p50 / row.time_us_p50;
  };
  auto plot = make_plot(model, panel, Quantity::factor, speedup);
  if (!plot) return plot;
  plot->title = "Speed-up";
  plot->remark = concat("against ", model.backends[baseline], "; above 1× is faster");
  plot->baseline = model.backends[baseline];
  return plot;
}

nlohmann::ordered_json plot_json(const Plot& plot) {
  using Json = nlohmann::ordered_json;
  const auto axis = [](const Axis& from) {
    Json ticks = Json::array();
    for (const AxisTick& tick : from.ticks) ticks.push_back({{"value", tick.value}, {"label", tick.label}});
    return Json{{"low", from.low}, {"high", from.high}, {"ticks", ticks}};
  };
  // Chart.js finds the points under the pointer by their index: every line has an entry for each size.
  std::set<double> sizes;
  for (const PlotLine& line : plot.lines)
    for (const PlotPoint& point : line.points) sizes.insert(point.x);
  Json size_texts = Json::array();
  for (const double size : sizes) size_texts.push_back(format_bytes(static_cast<std::uint64_t>(size)));
  Json lines = Json::array();
  for (const PlotLine& line : plot.lines) {
    Json points = Json::array();
    for (const double size : sizes) {
      const auto point = std::ranges::find(line.points, size, &PlotPoint::x);
      if (point == line.points.end()) {
        points.push_back({{"x", size}, {"y", nullptr}});
      } else {
        points.push_back({{"x", size}, {"y", point->y}, {"text", point->text}, {"joined", point->is_joined}});
      }
    }
    lines.push_back({{"name", line.name}, {"backend", line.backend}, {"file", line.file}, {"points", points}});
  }
  Json gaps = Json::array();
  for (const PlotGap& gap : plot.gaps) gaps.push_back({{"x", gap.x}, {"backend", gap.backend}, {"text", gap.text}});
  return {{"title", plot.title}, {"x", axis(plot.x)}, {"y", axis(plot.y)},
          {"sizes", size_texts}, {"lines", lines},    {"gaps", gaps}};
}

}  // namespace tutti::tools
