#include <fmt/format.h>

#include <algorithm>

#include "report/html/html_parts.hpp"
#include "report/html/html_text.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

/// With more ranks the cells are small and have no text.
constexpr std::size_t kMostRanksWithText = 16;
/// The darkest colour stands for at least this share, so that noise does not look like a late rank.
constexpr double kLeastScale = 0.1;

std::size_t rank_count(const PanelSeries& series) {
  std::size_t count = 0;
  for (const auto& [bytes, row] : series.rows)
    if (row != nullptr) count = std::max(count, row->rank_time_us.size());
  return count;
}

/// By how much longer the rank takes than the fastest rank, as a share.
double lateness(const SweepRow& row, std::size_t rank) {
  const double least = *std::ranges::min_element(row.rank_time_us);
  return least > 0 ? row.rank_time_us[rank] / least - 1 : 0;
}

double scale_of(const ReportPanel& panel) {
  double largest = kLeastScale;
  for (const PanelSeries& series : panel.series)
    for (const auto& [bytes, row] : series.rows)
      for (std::size_t rank = 0; row != nullptr && rank < row->rank_time_us.size(); ++rank)
        largest = std::max(largest, lateness(*row, rank));
  return largest;
}

std::string heat_cell(const SweepRow* row, std::size_t rank, double scale, bool has_text) {
  if (row == nullptr || rank >= row->rank_time_us.size()) return "<td class=\"none\"></td>";
  const double share = lateness(*row, rank);
  const std::string time = time_text(row->rank_time_us[rank]);
  const std::string title = fmt::format("rank {}, {}: {}, +{:.1f} % over the fastest rank", rank,
                                        format_bytes(row->bytes), time, share * 100);
  return element("td",
                 concat(fmt::format(" style=\"--heat:{:.3f}\"", share / scale), attribute("title", title),
                        attribute("data-value", exact_number(row->rank_time_us[rank]))),
                 has_text ? time : "");
}

std::string heat_table(const ReportModel& model, const PanelSeries& series, double scale) {
  const std::size_t ranks = rank_count(series);
  std::string head = "<th scope=\"col\">rank</th>";
  for (const auto& [bytes, row] : series.rows) head += element("th", " scope=\"col\"", format_bytes(bytes));
  std::string body;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::string cells = element("th", " scope=\"row\"", std::to_string(rank));
    for (const auto& [bytes, row] : series.rows)
      cells += heat_cell(series.ok_row(bytes), rank, scale, ranks <= kMostRanksWithText);
    body += element("tr", "", cells);
  }
  const std::string css = ranks <= kMostRanksWithText ? "heat fixed" : "heat fixed dense";
  return element("figure", "",
                 concat(element("figcaption", "", backend_html(series.backend, model.name_of(series))),
                        table_html(css, element("tr", "", head), body)));
}

}  // namespace

std::string heat_html(const ReportModel& model, const ReportPanel& panel) {
  const double scale = scale_of(panel);
  std::string tables;
  for (const PanelSeries& series : panel.series)
    if (rank_count(series) > 1) tables += heat_table(model, series, scale);
  if (tables.empty()) return {};
  return concat(
      "<h4>Time of each rank</h4><p class=\"remark\">Median of the rank's calls. Colour: time beyond that of the "
      "fastest rank, <span class=\"scale\">0 %<i></i>",
      fmt::format("+{:.0f} %", scale * 100), "</span></p>", element("div", " class=\"heats\"", tables));
}

}  // namespace tutti::tools
