#include <array>
#include <nlohmann/json.hpp>

#include "report/html/html_axis.hpp"
#include "report/html/html_parts.hpp"
#include "report/html/html_plot.hpp"
#include "report/html/html_text.hpp"
#include "results/results_json.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

using Json = nlohmann::ordered_json;

/// A column of the table of all numbers: a key of the JSON file.
struct Column {
  const char* key;
  std::string_view title;
  std::string_view explanation;
  Quantity quantity = Quantity::count;
};

constexpr std::array kColumns = {
    Column{"time_us_p50", "time", "median of the calls, or of the runs' medians", Quantity::time_us},
    Column{"time_us_min", "least", "fastest call", Quantity::time_us},
    Column{"time_us_p99", "p99", "99 % of the calls took at most this time", Quantity::time_us},
    Column{"algbw_gbs", "algorithm", "message size by time", Quantity::gigabytes_per_second},
    Column{"busbw_gbs", "bus", "bus bandwidth as nccl-tests defines it", Quantity::gigabytes_per_second},
    Column{"host_calls", "host calls", "calls into the library, all ranks and counted calls together"},
    Column{"host_time_us", "host time", "inside the library, all ranks and counted calls together", Quantity::time_us},
    Column{"device_calls", "device calls", "kernels, copies and operations on devices, all ranks together"},
    Column{"device_time_us", "device time", "of these, all ranks together", Quantity::time_us},
    Column{"traffic_calls", "copies", "explicit copies between memories, all ranks together"},
    Column{"traffic_bytes", "copied", "bytes of these copies", Quantity::bytes},
    Column{"alloc_calls", "allocations", "of all ranks together"},
    Column{"alloc_bytes", "allocated", "bytes of these allocations", Quantity::bytes},
    Column{"peak_bytes", "peak", "most that was allocated at once, on the rank where it was most", Quantity::bytes},
    Column{"counted_calls", "counted", "calls of the operation on each rank during which the calls were counted"},
    Column{"observed_device_calls", "busy calls", "work of the device in one call, rank with the longest time"},
    Column{"observed_device_time_us", "busy", "time during which the device ran any of it", Quantity::time_us},
    Column{"observed_time_us", "observed", "time of the calls while the device was observed", Quantity::time_us},
};

constexpr std::array kTextColumns = {Column{"served_by", "served by", "backend that carried the operation out"},
                                     Column{"emulated", "emulated", "how tutti built the operation"},
                                     Column{"status", "status", ""}, Column{"note", "note", ""}};

/// The row as the JSON file has it, so that the page cannot show other numbers.
Json row_json(const SweepResults& results, const SweepRow& row) {
  SweepResults single;
  single.device = results.device;
  single.rows = {row};
  return Json::parse(to_json(single))["rows"][0];
}

std::string number_cell(const Json& row, const Column& column) {
  const Json& value = row[column.key];
  if (value.is_null()) return "<td class=\"none\">–</td>";
  return element("td", concat(attribute("data-field", column.key), attribute("data-value", value.dump())),
                 escape_html(quantity_text(column.quantity, value.get<double>())));
}

std::string text_cell(const SweepRow& row, const Json& json, const Column& column) {
  const bool is_bad = !row.ok() && std::string_view(column.key) == "status";
  return element("td", is_bad ? " class=\"text bad\"" : " class=\"text\"",
                 concat(is_bad ? "✕ " : "", escape_html(json[column.key].get<std::string>())));
}

std::string size_cell(std::uint64_t bytes) {
  return element("th", concat(" scope=\"row\"", attribute("data-value", std::to_string(bytes))), format_bytes(bytes));
}

std::string head_cell(const Column& column, std::string_view css) {
  return element("th",
                 concat(" scope=\"col\"", css.empty() ? "" : attribute("class", css),
                        column.explanation.empty() ? "" : attribute("title", column.explanation)),
                 escape_html(column.title));
}

std::string time_cell(const PanelSeries& series, std::uint64_t bytes, const Winner* winner) {
  const auto found = series.rows.find(bytes);
  if (found == series.rows.end()) return R"(<td class="none">–</td><td class="none">–</td>)";
  const SweepRow* row = found->second;
  if (row == nullptr) return R"(<td class="bad" colspan="2">✕ not measured</td>)";
  if (!row->ok())
    return element("td", concat(" class=\"bad\" colspan=\"2\"", attribute("title", row->status)),
                   concat("✕ ", escape_html(row->status.substr(0, row->status.find_first_of(":(")))));
  const bool is_best = winner != nullptr && winner->best == row;
  return concat(
      element("td", concat(is_best ? " class=\"best\"" : "", attribute("data-value", exact_number(row->time_us_p50))),
              time_text(row->time_us_p50)),
      element("td", attribute("data-value", exact_number(row->shown_gbs())), three_digits(row->shown_gbs())));
}

}  // namespace

std::string times_html(const ReportModel& model, const ReportPanel& panel) {
  std::string names = "<th></th>";
  std::string head = "<th scope=\"col\">size</th>";
  for (const PanelSeries& series : panel.series) {
    names += element("th", " colspan=\"2\" scope=\"colgroup\"", backend_html(series.backend, model.name_of(series)));
    head +=
        "<th scope=\"col\">time</th><th scope=\"col\" title=\"bus bandwidth as nccl-tests defines it, with one rank "
        "size by time\">GB/s</th>";
  }
  std::string body;
  for (const std::uint64_t bytes : panel.sizes) {
    std::string row = size_cell(bytes);
    for (const PanelSeries& series : panel.series)
      row += time_cell(series, bytes, model.winner(panel, series.file, bytes));
    body += element("tr", "", row);
  }
  return table_html("times", concat(element("tr", " class=\"groups\"", names), element("tr", "", head)), body);
}

std::string numbers_html(const ReportModel& model, const ReportPanel& panel) {
  std::string head = "<th scope=\"col\">size</th><th scope=\"col\" class=\"text\">backend</th>";
  for (const Column& column : kColumns) head += head_cell(column, "");
  for (const Column& column : kTextColumns) head += head_cell(column, "text");
  std::string body;
  for (const PanelSeries& series : panel.series) {
    const std::vector<SweepRow>& rows = model.files[series.file].results.rows;
    for (const auto& [bytes, row] : series.rows) {
      if (row == nullptr) continue;
      const Json json = row_json(model.files[series.file].results, *row);
      std::string cells = size_cell(bytes);
      cells += element("td", " class=\"text\"", backend_html(series.backend, model.name_of(series)));
      for (const Column& column : kColumns) cells += number_cell(json, column);
      for (const Column& column : kTextColumns) cells += text_cell(*row, json, column);
      body += element("tr",
                      concat(attribute("data-file", std::to_string(series.file)),
                             attribute("data-row", std::to_string(row - rows.data()))),
                      cells);
    }
  }
  return table_html("numbers", element("tr", "", head), body);
}

std::string backend_html(std::size_t backend, std::string_view name) {
  return element("span", concat(" class=\"backend s", backend % kSeriesStyles, '"'),
                 concat("<svg viewBox=\"0 0 12 12\" aria-hidden=\"true\">", marker_svg(backend, 6, 6, 4), "</svg>",
                        escape_html(name)));
}

std::string table_html(std::string_view css, std::string_view head, std::string_view body) {
  return element(
      "div", " class=\"scroll\" tabindex=\"0\"",
      element("table", attribute("class", css), concat(element("thead", "", head), element("tbody", "", body))));
}

std::string section_html(std::string_view id, std::string_view title, std::string_view content) {
  if (content.empty()) return {};
  return element("section", attribute("id", id), concat(element("h2", "", escape_html(title)), content));
}

}  // namespace tutti::tools
