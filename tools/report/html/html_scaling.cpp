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

std::string point_row(const ReportModel& model, const std::string& file, const ScalingPoint& point) {
  const SweepRow& row = *point.row;
  const std::size_t backend = model.backend_index(row.backend);
  const std::string label = model.files.size() == 1 ? row.backend : concat(row.backend, " · ", file);
  std::string cells = element("td", " class=\"text\"", backend_html(backend, label));
  const std::string operation = concat(name(row.cell.op), row.cell.in_place ? ", in place" : "");
  cells += element("td", " class=\"text\"", operation) + element("td", " class=\"text\"", name(row.type));
  cells += number_cell(static_cast<double>(point.bytes_per_rank), format_bytes(point.bytes_per_rank));
  cells +=
      count_cell(static_cast<std::uint64_t>(row.ranks)) + count_cell(point.hosts) + count_cell(point.ranks_per_host);
  cells += number_cell(row.time_us_p50, time_text(row.time_us_p50));
  cells += number_cell(point.throughput_gbs, concat(three_digits(point.throughput_gbs), " GB/s"));
  cells += number_cell(point.speedup, concat(three_digits(point.speedup), "×"));
  cells += number_cell(point.efficiency, concat(three_digits(point.efficiency * 100), " %"));
  return element("tr", "", cells);
}

}  // namespace

std::string scaling_html(const ReportModel& model) {
  std::string body;
  for (const NamedResults& file : model.files)
    for (const Scaling& scaling : find_scaling(file.results))
      for (const ScalingPoint& point : scaling.points) body += point_row(model, file.name, point);
  if (body.empty()) return {};
  std::string head;
  for (const std::string_view title : {"backend", "operation", "type"})
    head += element("th", " scope=\"col\" class=\"text\"", title);
  for (const std::string_view title :
       {"size per rank", "ranks", "hosts", "ranks per host", "time", "throughput", "speed-up", "efficiency"})
    head += element("th", " scope=\"col\"", title);
  return section_html(
      "scaling", "Scaling with the number of ranks",
      concat("<p class=\"remark\">Throughput is the data of all ranks by time, speed-up that against the "
             "fewest ranks, efficiency speed-up by the growth of the number of ranks.</p>",
             table_html("scaling", element("tr", "", head), body)));
}

}  // namespace tutti::tools
