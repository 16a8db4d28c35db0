#include <algorithm>
#include <initializer_list>

#include "analysis/scaling.hpp"
#include "report/html/html_parts.hpp"
#include "report/html/html_text.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

std::string number_cell(double value, std::string_view text) {
  return element("td", attribute("data-value", exact_number(value)), escape_html(text));
}

std::string count_cell(std::uint64_t value) {
  return element("td", attribute("data-value", std::to_string(value)), std::to_string(value));
}

/// Backend, operation, type, size and ranks.
std::string key_cells(const ReportModel& model, const std::string& file, const ScalingPoint& point) {
  const SweepRow& row = *point.row;
  const std::size_t backend = model.backend_index(row.backend);
  const std::string label = model.files.size() == 1 ? row.backend : concat(row.backend, " · ", file);
  std::string cells = element("td", " class=\"text\"", backend_html(backend, label));
  const std::string operation = concat(name(row.cell.op), row.cell.in_place ? ", in place" : "");
  cells += element("td", " class=\"text\"", operation) + element("td", " class=\"text\"", name(row.type));
  cells += number_cell(static_cast<double>(point.bytes_per_rank), format_bytes(point.bytes_per_rank));
  return cells + count_cell(static_cast<std::uint64_t>(row.ranks));
}

std::string relation_cells(double speedup, double efficiency) {
  return number_cell(speedup, concat(three_digits(speedup), "×")) +
         number_cell(efficiency, concat(three_digits(efficiency * 100), " %"));
}

std::string point_row(const ReportModel& model, const std::string& file, const ScalingPoint& point) {
  const SweepRow& row = *point.row;
  std::string cells = key_cells(model, file, point);
  cells += count_cell(point.hosts) + count_cell(point.ranks_per_host);
  cells += count_cell(std::max<std::uint64_t>(row.run_medians_us.size(), 1));
  cells += number_cell(row.time_us_p50, time_text(row.time_us_p50));
  cells += number_cell(point.throughput_gbs, concat(three_digits(point.throughput_gbs), " GB/s"));
  return element("tr", "", cells + relation_cells(point.speedup, point.efficiency));
}

std::string step_row(const ReportModel& model, const std::string& file, const ScalingPoint& point) {
  if (!point.steps) return {};
  const ScalingSteps& steps = *point.steps;
  const auto time_cells = [&](double us) {
    const double rate = ScalingSteps::per_second(us, point.row->ranks);
    return number_cell(us, time_text(us)) + number_cell(rate, three_digits(rate));
  };
  return element("tr", "",
                 key_cells(model, file, point) + count_cell(point.row->run_steps_us.size()) +
                     time_cells(steps.step_us) + relation_cells(steps.speedup, steps.efficiency) +
                     time_cells(steps.compute_us) + relation_cells(steps.alone_speedup, steps.alone_efficiency));
}

std::string head_cells(std::initializer_list<std::string_view> numbers) {
  std::string head;
  for (const std::string_view title : {"backend", "operation", "type"})
    head += element("th", " scope=\"col\" class=\"text\"", title);
  for (const std::string_view title : {"size per rank", "ranks"}) head += element("th", " scope=\"col\"", title);
  for (const std::string_view title : numbers) head += element("th", " scope=\"col\"", title);
  return head;
}

using Row = std::string (*)(const ReportModel&, const std::string&, const ScalingPoint&);

std::string rows_of(const ReportModel& model, Row row) {
  std::string body;
  for (const NamedResults& file : model.files)
    for (const Scaling& scaling : find_scaling(file.results))
      for (const ScalingPoint& point : scaling.points) body += row(model, file.name, point);
  return body;
}

}  // namespace

std::string scaling_html(const ReportModel& model) {
  const std::string body = rows_of(model, point_row);
  if (body.empty()) return {};
  std::string content = concat(
      "<p class=\"remark\">Throughput is the data of all ranks by time, speed-up that against the "
      "fewest ranks, efficiency speed-up by the growth of the number of ranks.</p>",
      table_html(
          "scaling",
          element("tr", "",
                  head_cells({"hosts", "ranks per host", "runs", "time", "throughput", "speed-up", "efficiency"})),
          body));
  if (const std::string steps = rows_of(model, step_row); !steps.empty()) {
    const std::string groups =
        concat(element("th", " colspan=\"6\"", ""), element("th", " colspan=\"4\"", "with communication"),
               element("th", " colspan=\"4\"", "without"));
    const std::string head = element("tr", " class=\"groups\"", groups) +
                             element("tr", "",
                                     head_cells({"runs", "step", "steps/s", "speed-up", "efficiency", "step", "steps/s",
                                                 "speed-up", "efficiency"}));
    content += concat(
        "<h3>Steps with and without communication</h3><p class=\"remark\">A step is a computation on each "
        "rank, the same work whatever their number, and the operation; without communication the "
        "computation alone. Steps/s are those of all ranks.</p>",
        table_html("scaling", head, steps));
  }
  return section_html("scaling", "Scaling with the number of ranks", content);
}

}  // namespace tutti::tools
