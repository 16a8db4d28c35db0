#include "report/result_tables.hpp"

#include <algorithm>

#include "analysis/guidelines.hpp"
#include "analysis/scaling.hpp"
#include "analysis/winners.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

ReportCell yes_or_no(bool value) { return value ? "yes" : "no"; }

std::string launcher_text(const BackendSetup& setup) {
  return setup.launcher.empty() ? "tutti" : join(setup.launcher, " ");
}

/// Backends of the file that have a row in any of the cells.
std::vector<std::string> backends_of(const std::vector<std::vector<const SweepRow*>>& cells) {
  std::vector<std::string> backends;
  for (const auto& rows : cells) {
    for (const SweepRow* row : rows) {
      if (std::ranges::find(backends, row->backend) == backends.end()) backends.push_back(row->backend);
    }
  }
  return backends;
}

ReportCell cell_time(const SweepRow* row) {
  if (row == nullptr) return {"-", ""};
  if (row->ok()) return time_cell(row->time_us_p50);
  return row->status.starts_with(kDoesNotFit) ? "does not fit" : "failed";
}

ReportCell speedup(const SweepRow* base, const SweepRow* row) {
  if (base == nullptr || row == nullptr || !base->ok() || !row->ok()) return {"", ""};
  return ratio_cell(base->time_us_p50 / row->time_us_p50);
}

/// A table of cells that differ in size only.
ReportTable time_table(std::span<const CellKey> keys, const std::vector<std::vector<const SweepRow*>>& cells,
                       const std::vector<Winner>& winners, const std::string& baseline) {
  ReportTable table{.title = concat(group_text(keys.front()), ": time of a call"), .columns = {{"size", "bytes"}}};
  const std::vector<std::string> backends = backends_of(cells);
  const bool has_baseline = std::ranges::find(backends, baseline) != backends.end();
  for (const std::string& backend : backends) {
    table.columns.push_back({backend, backend + " us"});
    if (has_baseline && backend != baseline) table.columns.push_back({"speed-up", backend + " speed-up"});
  }
  table.columns.insert(table.columns.end(), {{"fastest", "", Align::left}, {"margin"}, {"beyond noise"}});
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::vector<ReportCell>& line = table.rows.emplace_back();
    line.push_back(size_cell(cells[i].front()->bytes));
    for (const std::string& backend : backends) {
      const SweepRow* row = row_of(cells[i], backend);
      line.push_back(cell_time(row));
      if (has_baseline && backend != baseline) line.push_back(speedup(row_of(cells[i], baseline), row));
    }
    const auto winner = std::ranges::find(winners, keys[i], &Winner::key);
    if (winner == winners.end()) {
      line.insert(line.end(), 3, {});
    } else {
      line.insert(line.end(),
                  {winner->best->backend, percent_cell(winner->margin), yes_or_no(winner->is_beyond_noise)});
    }
  }
  return table;
}

ReportTable scaling_head(const CellKey& key) {
  return {
      .title = concat("Scaling of ", name(key.cell.op), ", ", name(key.type), key.cell.in_place ? ", in place" : ""),
      .columns = {{"backend", "", Align::left},
                  {"size/rank", "bytes_per_rank"},
                  {"hosts"},
                  {"ranks/host", "ranks_per_host"},
                  {"ranks"},
                  {"runs"},
                  {"time", "time_us"},
                  {"GB/s", "throughput_gbs"},
                  {"speed-up", "speedup"},
                  {"efficiency"}},
      .keys = 2};
}

void add_scaling(ReportTable& table, const Scaling& scaling) {
  for (const ScalingPoint& point : scaling.points) {
    const SweepRow& row = *point.row;
    table.rows.push_back({row.backend, size_cell(point.bytes_per_rank), count_cell(point.hosts),
                          count_cell(point.ranks_per_host), std::to_string(row.ranks),
                          count_cell(std::max<std::size_t>(row.run_medians_us.size(), 1)), time_cell(row.time_us_p50),
                          ReportCell(three_digits(point.throughput_gbs), raw_number(point.throughput_gbs)),
                          ratio_cell(point.speedup), percent_cell(point.efficiency)});
  }
}

ReportTable steps_head(const CellKey& key) {
  return {.title = concat("Scaling of steps with ", name(key.cell.op), ", ", name(key.type),
                          key.cell.in_place ? ", in place" : ""),
          .columns = {{"backend", "", Align::left},
                      {"size/rank", "bytes_per_rank"},
                      {"ranks/host", "ranks_per_host"},
                      {"ranks"},
                      {"runs"},
                      {"with", "step_us"},
                      {"steps/s", "steps_per_s"},
                      {"speed-up", "speedup"},
                      {"efficiency"},
                      {"without", "compute_us"},
                      {"steps/s", "steps_per_s_without"},
                      {"speed-up", "speedup_without"},
                      {"efficiency", "efficiency_without"}},
          .keys = 4};
}

void add_steps(ReportTable& table, const Scaling& scaling) {
  for (const ScalingPoint& point : scaling.points) {
    if (!point.steps) continue;
    const ScalingSteps& steps = *point.steps;
    const auto rate = [&](double us) {
      const double steps_per_second = ScalingSteps::per_second(us, point.row->ranks);
      return ReportCell(three_digits(steps_per_second), raw_number(steps_per_second));
    };
    table.rows.push_back({point.row->backend, size_cell(point.bytes_per_rank), count_cell(point.ranks_per_host),
                          std::to_string(point.row->ranks), count_cell(point.row->run_steps_us.size()),
                          time_cell(steps.step_us), rate(steps.step_us), ratio_cell(steps.speedup),
                          percent_cell(steps.efficiency), time_cell(steps.compute_us), rate(steps.compute_us),
                          ratio_cell(steps.alone_speedup), percent_cell(steps.alone_efficiency)});
  }
}

/// Adds the rows of all scalings to the table of their operation and type.
std::vector<ReportTable> tables_of(const SweepResults& results, ReportTable (*head)(const CellKey&),
                                   void (*add)(ReportTable&, const Scaling&)) {
  std::vector<ReportTable> tables;
  for (const Scaling& scaling : find_scaling(results)) {
    ReportTable table = head(scaling.key);
    auto found = std::ranges::find(tables, table.title, &ReportTable::title);
    if (found == tables.end()) found = tables.insert(tables.end(), std::move(table));
    add(*found, scaling);
  }
  return tables;
}

}  // namespace

ReportTable environment_table(std::span<const NamedResults> files) {
  ReportTable table{.title = "Measurements",
                    .columns = {{"file", "", Align::left},
                                {"begun", "", Align::left},
                                {"host", "", Align::left},
                                {"cores"},
                                {"tutti", "", Align::left},
                                {"kernels", "", Align::left},
                                {"memory", "", Align::left},
                                {"CPU", "", Align::left}}};
  for (const NamedResults& file : files) {
    const SweepHead& head = file.results.head;
    table.rows.push_back({file.name, head.begun, head.hostname, head.cores == 0 ? "" : std::to_string(head.cores),
                          head.tutti, head.kernels, file.results.device, head.cpu});
  }
  return table;
}

ReportTable backend_table(const SweepResults& results) {
  ReportTable table{.title = "Backends",
                    .columns = {{"backend", "", Align::left},
                                {"version", "", Align::left},
                                {"library", "", Align::left},
                                {"started by", "", Align::left}}};
  for (const BackendSetup& setup : results.backends)
    table.rows.push_back({setup.backend, setup.version, setup.library, launcher_text(setup)});
  return table;
}

std::vector<ReportTable> time_tables(const SweepResults& results, const std::string& baseline) {
  std::vector<ReportTable> tables;
  const std::vector<Winner> winners = find_winners(results);
  std::vector<CellKey> keys;
  std::vector<std::vector<const SweepRow*>> cells;
  const auto finish = [&] {
    if (!keys.empty()) tables.push_back(time_table(keys, cells, winners, baseline));
    keys.clear();
    cells.clear();
  };
  for (const auto& [key, rows] : rows_by_cell(results)) {
    if (!keys.empty() && group_text(keys.back()) != group_text(key)) finish();
    keys.push_back(key);
    cells.push_back(rows);
  }
  finish();
  return tables;
}

ReportTable guideline_table(const SweepResults& results) {
  ReportTable table{.title = "Broken performance guidelines",
                    .columns = {{"backend", "", Align::left},
                                {"cell", "", Align::left},
                                {"size", "bytes"},
                                {"time", "time_us"},
                                {"faster way", "", Align::left},
                                {"its time", "way_time_us"},
                                {"factor"}},
                    .keys = 3};
  for (const BrokenGuideline& broken : find_broken_guidelines(results)) {
    table.rows.push_back({broken.row->backend, group_text(broken.key), size_cell(broken.row->bytes),
                          time_cell(broken.row->time_us_p50), broken.way(), time_cell(broken.parts_us),
                          ratio_cell(broken.factor)});
  }
  return table;
}

std::vector<ReportTable> scaling_tables(const SweepResults& results) {
  return tables_of(results, scaling_head, add_scaling);
}

std::vector<ReportTable> step_tables(const SweepResults& results) { return tables_of(results, steps_head, add_steps); }

}  // namespace tutti::tools
