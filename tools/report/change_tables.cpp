#include "report/change_tables.hpp"

#include <algorithm>
#include <set>

#include "text/text.hpp"
#include "tutti/error.hpp"

namespace tutti::tools {
namespace {

/// A cell of one backend in all files, as changes against the first.
struct Line {
  CellKey key;
  const SweepRow* first = nullptr;
  std::vector<const Change*> changes;  ///< by file after the first; null where a file lacks the cell
};

std::vector<Line> lines_of(const std::vector<std::vector<Change>>& all) {
  std::vector<Line> lines;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const Change& change : all[i]) {
      auto found = std::ranges::find(lines, change.before, &Line::first);
      if (found == lines.end())
        found = lines.insert(lines.end(), Line{.key = change.key, .first = change.before, .changes = {}});
      found->changes.resize(all.size());
      found->changes[i] = &change;
    }
  }
  std::ranges::stable_sort(lines, {}, &Line::key);
  return lines;
}

ReportCell time_or_failure(const SweepRow& row) { return row.ok() ? time_cell(row.time_us_p50) : ReportCell("failed"); }

void add_change(std::vector<ReportCell>& row, const Change* change) {
  if (change == nullptr) {
    row.insert(row.end(), {ReportCell("-", ""), {}, {}});
    return;
  }
  row.push_back(time_or_failure(*change->after));
  row.push_back(change->ratio > 0 ? ratio_cell(change->ratio) : ReportCell());
  row.emplace_back(std::string(name(change->kind)));
}

ReportTable table_head(const CellKey& key, std::span<const NamedResults> files) {
  ReportTable table{.title = concat(group_text(key), ": changes"),
                    .columns = {{"size", "bytes"}, {"backend", "", Align::left}},
                    .keys = 2};
  table.columns.push_back({files.front().name, files.front().name + " us"});
  for (const NamedResults& file : files.subspan(1)) {
    table.columns.push_back({file.name, file.name + " us"});
    table.columns.push_back({"ratio", file.name + " ratio"});
    table.columns.push_back({"change", file.name + " change", Align::left});
  }
  return table;
}

/// The cells and backends of a file in one line, for an error.
std::string content_text(const NamedResults& file) {
  std::vector<std::string> groups;
  std::vector<std::string> backends;
  std::set<std::uint64_t> sizes;
  const auto add = [](std::vector<std::string>& list, const std::string& text) {
    if (std::ranges::find(list, text) == list.end()) list.push_back(text);
  };
  for (const SweepRow& row : file.results.rows) {
    add(groups, group_text(key_of(row)));
    add(backends, row.backend);
    sizes.insert(row.cell.bytes);
  }
  return concat(file.name, " has ", join(groups, "; "), " from ", format_bytes(*sizes.begin()), " to ",
                format_bytes(*sizes.rbegin()), " on ", join(backends, ", "));
}

std::string count_text(const std::vector<Change>& changes, ChangeKind kind, std::string_view words) {
  const auto count = std::ranges::count(changes, kind, &Change::kind);
  return count == 0 ? "" : concat(", ", count, ' ', words);
}

}  // namespace

void check_common_cells(std::span<const NamedResults> files) {
  for (const NamedResults& file : files.subspan(1)) {
    if (!compare_results(files.front().results, file.results).empty()) continue;
    throw Error(ErrorCode::config,
                concat(files.front().name, " and ", file.name,
                       " have no cell in common, which is an operation of a type on the same number of ranks at the "
                       "same size on the same backend: ",
                       content_text(files.front()), "; ", content_text(file)));
  }
}

std::vector<ReportTable> change_tables(std::span<const NamedResults> files) {
  std::vector<std::vector<Change>> all;
  for (const NamedResults& file : files.subspan(1)) all.push_back(compare_results(files.front().results, file.results));
  std::vector<ReportTable> tables;
  for (const Line& line : lines_of(all)) {
    ReportTable head = table_head(line.key, files);
    if (tables.empty() || tables.back().title != head.title) tables.push_back(std::move(head));
    std::vector<ReportCell>& row = tables.back().rows.emplace_back();
    row = {size_cell(line.first->bytes), line.first->backend, time_or_failure(*line.first)};
    for (const Change* change : line.changes) add_change(row, change);
  }
  return tables;
}

std::string change_summary(const NamedResults& before, const NamedResults& after) {
  const std::vector<Change> changes = compare_results(before.results, after.results);
  return concat(after.name, " against ", before.name, ": ", changes.size(),
                changes.size() == 1 ? " cell in common" : " cells in common",
                count_text(changes, ChangeKind::slower, "slower beyond the noise"),
                count_text(changes, ChangeKind::faster, "faster beyond the noise"),
                count_text(changes, ChangeKind::broken, "broken"),
                count_text(changes, ChangeKind::repaired, "repaired"));
}

std::string regression_text(const Change& change) {
  const std::string cell =
      concat(group_text(change.key), ", ", format_bytes(change.before->bytes), " on ", change.before->backend, ": ",
             format_time_us(change.before->time_us_p50), " before, ");
  if (change.kind == ChangeKind::broken) return concat(cell, "fails now: ", change.after->status);
  return concat(cell, format_time_us(change.after->time_us_p50), " after: ", ratio_cell(change.ratio).text, " times");
}

}  // namespace tutti::tools
