#include "sinks/breakdown.hpp"

#include <algorithm>
#include <utility>

#include "base/table.hpp"
#include "sinks/operation_sums.hpp"
#include "sinks/wording.hpp"

namespace tutti::profiling {
namespace {

std::vector<std::string> cells_of(const OperationSum& group, bool percentiles) {
  const Statistics& operations = group.operations;
  std::vector<std::string> cells = {count_cell(operations.calls), time_cell(operations.total),
                                    time_cell(group.average_ns())};
  if (percentiles) {
    for (const double share : {0.5, 0.9, 0.99}) cells.push_back(time_cell(operations.values.quantile(share)));
  }
  cells.insert(cells.end(), {count_cell(group.host_calls), time_cell(group.host_ns), time_cell(group.device_ns),
                             bytes_cell(group.traffic), bytes_cell(group.allocated), count_cell(group.errors)});
  return cells;
}

base::Table empty_table(const BreakdownOptions& options) {
  std::vector<base::Table::Column> columns;
  for (const SplitBy field : options.by) {
    const bool number = field == SplitBy::size || field == SplitBy::rank;
    columns.push_back({SplitKeys::title(field), number ? base::Align::right : base::Align::left});
  }
  std::vector<const char*> titles = {"calls", "time", "average"};
  if (options.percentiles) titles.insert(titles.end(), {"p50", "p90", "p99"});
  titles.insert(titles.end(), {"host calls", "host time", "device time", "traffic", "allocated", "errors"});
  for (const char* title : titles) columns.push_back({title, base::Align::right});
  return base::Table(std::move(columns));
}

}  // namespace

std::string breakdown_text(const Profile& profile, const BreakdownOptions& options, const TextOptions& text) {
  const std::vector<std::pair<SplitKey, OperationSum>> groups = operation_sums(profile, options.by);
  if (groups.empty()) return {};

  base::Table table = empty_table(options);
  OperationSum all;
  for (const auto& [key, group] : groups) {
    all.add(group);
    std::vector<std::string> cells;
    for (const SplitValue& value : key) cells.push_back(value.text);
    for (std::string& cell : cells_of(group, options.percentiles)) cells.push_back(std::move(cell));
    table.add(std::move(cells));
  }
  if (groups.size() > 1 && !options.by.empty()) {
    std::vector<std::string> cells(options.by.size());
    cells[0] = "total";
    for (std::string& cell : cells_of(all, options.percentiles)) cells.push_back(std::move(cell));
    table.add(std::move(cells));
  }
  std::string fields;
  for (const SplitBy field : options.by)
    fields += (fields.empty() ? " by " : ", ") + std::string(SplitKeys::title(field));
  const base::Style style(text.colour);
  return heading(style, "Operations" + fields) + table.render_parts(style, text.width, options.by.size()) + "\n" +
         note(
             "calls, time, average: of operations as their caller sees them, all ranks together. host calls, host "
             "time: "
             "calls of libraries, on behalf of the operation where one is named. Device work of several ranks or "
             "streams may overlap.",
             text.width) +
         "\n";
}

}  // namespace tutti::profiling
