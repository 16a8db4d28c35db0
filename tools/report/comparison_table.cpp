#include "report/comparison_table.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "analysis/cell_key.hpp"
#include "base/tally_units.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

/// "mpi:intel" as a name of iprof's kind: "BACKEND_MPI_INTEL".
std::string iprof_name(const std::string& backend) {
  std::string name = "BACKEND_";
  for (const char c : backend) {
    const auto byte = static_cast<unsigned char>(c);
    name += std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return name;
}

std::vector<std::string> header_lines(const BackendSetup& setup) {
  if (setup.processes == 0) return {concat(setup.backend, ' ', iprof_name(setup.backend), " | not counted |")};
  const std::string who =
      concat(setup.hostnames, " Hostnames | ", setup.processes, " Processes | ", setup.threads, " Threads |");
  std::vector<std::string> lines = {concat(setup.backend, ' ', iprof_name(setup.backend), " | ", who)};
  if (setup.devices > 0) {
    lines.push_back(concat(setup.backend, " Device profiling | ", who, ' ', setup.devices, " Devices | ",
                           setup.subdevices, " Subdevices |"));
  }
  return lines;
}

ComparisonCell counted(double amount, std::uint64_t calls) { return {.amount = amount, .calls = calls}; }

double nanoseconds(double microseconds) { return std::round(microseconds * 1e3); }

ComparisonCells cells_of(const SweepRow& row) {
  ComparisonCells cells;
  if (!row.counts) {
    cells.fill({.text = row.ok() ? "not counted" : "failed"});
    return cells;
  }
  const CellCounts& counts = *row.counts;
  return {counted(nanoseconds(counts.host_time_us), counts.host_calls),
          counted(nanoseconds(counts.device_time_us), counts.device_calls),
          counted(static_cast<double>(counts.traffic_bytes), counts.traffic_calls),
          counted(static_cast<double>(counts.alloc_bytes), counts.alloc_calls)};
}

ComparisonColumn& column_of(ComparisonTable& table, const SweepResults& results, const std::string& backend) {
  const auto found = std::ranges::find(table.columns, backend, &ComparisonColumn::name);
  if (found != table.columns.end()) return *found;
  ComparisonColumn& column = table.columns.emplace_back();
  column.name = backend;
  const auto setup = std::ranges::find(results.backends, backend, &BackendSetup::backend);
  if (setup != results.backends.end()) column.header_lines = header_lines(*setup);
  return column;
}

/// Totals of backends that made different numbers of calls must not be compared as they are.
std::string call_remark(const std::map<std::string, std::set<std::uint64_t>>& calls) {
  std::set<std::uint64_t> all;
  for (const auto& [backend, numbers] : calls) all.insert(numbers.begin(), numbers.end());
  if (all.size() == 1)
    return concat("Totals of all ranks over ", *all.begin(), *all.begin() == 1 ? " call" : " calls",
                  " of the operation on each.");
  std::string text = "Totals of all ranks; the calls of the operation on each differ: ";
  for (const auto& [backend, numbers] : calls) {
    text += concat(backend, ' ', *numbers.begin());
    if (numbers.size() > 1) text += concat(" to ", *numbers.rbegin());
    text += "; ";
  }
  text.resize(text.size() - 2);
  return text + '.';
}

}  // namespace

std::string ComparisonCell::amount_text(Cost cost) const {
  std::string shown = text;
  if (shown.empty() && amount && calls.value_or(1) != 0) {
    const std::span<const base::TallyUnit> units =
        traits(cost).is_bytes ? std::span(base::kTallyByteUnits) : std::span(base::kTallyTimeUnits);
    constexpr double kLargestWhole = 1e18;  // imported amounts may be of any size
    shown = *amount < kLargestWhole ? base::in_tally_units(static_cast<std::uint64_t>(*amount), units)
                                    : base::in_tally_units(*amount, units);
  }
  return mark.empty() ? shown : concat(shown, shown.empty() ? "" : " ", mark);
}

std::vector<std::uint64_t> ComparisonTable::sizes() const {
  std::set<std::uint64_t> sizes;
  for (const ComparisonColumn& column : columns) {
    for (const auto& [bytes, cells] : column.by_size) sizes.insert(bytes);
  }
  return {sizes.begin(), sizes.end()};
}

std::vector<ComparisonTable> comparison_tables(const SweepResults& results) {
  std::vector<ComparisonTable> tables;
  if (std::ranges::none_of(results.rows, [](const SweepRow& row) { return row.counts.has_value(); })) return tables;
  std::vector<std::map<std::string, std::set<std::uint64_t>>> calls;
  for (const auto& [key, rows] : rows_by_cell(results)) {
    if (const std::string title = group_text(key); tables.empty() || tables.back().title != title) {
      tables.push_back({.title = title, .columns = {}, .ops = {key.cell.op}});
      calls.emplace_back();
    }
    for (const BackendSetup& setup : results.backends) {
      if (row_of(rows, setup.backend) != nullptr) (void)column_of(tables.back(), results, setup.backend);
    }
    for (const SweepRow* row : rows) {
      column_of(tables.back(), results, row->backend).by_size[row->bytes] = cells_of(*row);
      if (row->counts) calls.back()[row->backend].insert(row->counts->calls);
    }
  }
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (!calls[i].empty()) tables[i].remarks.push_back(call_remark(calls[i]));
  }
  return tables;
}

void append_columns(ComparisonTable& table, const ComparisonTable& other, std::string_view source) {
  for (ComparisonColumn column : other.columns) {
    column.name += concat(" (", source, ')');
    table.columns.push_back(std::move(column));
  }
}

std::string comparison_text(const SweepResults& results, ReportFormat format, const Terminal& terminal) {
  ReportPrinter printer(format, terminal);
  const std::vector<ComparisonTable> tables = comparison_tables(results);
  if (tables.empty()) printer.paragraph("No cell was counted: there is nothing to compare.");
  for (const ComparisonTable& table : tables) print(printer, table);
  return printer.text();
}

}  // namespace tutti::tools
