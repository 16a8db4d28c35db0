#include "sinks/breakdown.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/table.hpp"
#include "sinks/split_keys.hpp"
#include "sinks/wording.hpp"

namespace tutti::profiling {
namespace {

using Key = std::vector<SplitValue>;

struct Group {
  Statistics operations;
  std::uint64_t host_calls = 0, host_ns = 0, errors = 0;
  std::uint64_t device_ns = 0, traffic = 0, allocated = 0;

  void add(const TallyRow& row) {
    const Statistics& values = row.statistics;
    switch (row.kind) {
      case Kind::operation:
        operations.add(values);
        break;
      case Kind::host:
        host_calls += values.calls;
        host_ns += values.total;
        break;
      case Kind::device:
        device_ns += values.total;
        break;
      case Kind::traffic:
        traffic += values.total;
        break;
      case Kind::allocation:
        allocated += values.total;
        break;
      case Kind::release:
        return;
    }
    errors += values.errors;
  }
  void add(const Group& other) {
    operations.add(other.operations);
    host_calls += other.host_calls;
    host_ns += other.host_ns;
    errors += other.errors;
    device_ns += other.device_ns;
    traffic += other.traffic;
    allocated += other.allocated;
  }
  /// The time by which groups are ordered.
  [[nodiscard]] std::uint64_t weight() const noexcept {
    return operations.total != 0 ? operations.total : host_ns + device_ns;
  }
};

/// Keys in the order of the table: sizes, ranks and devices ascend, other fields by descending time of all groups that
/// share the fields up to there.
std::vector<Key> ordered_keys(const std::map<Key, Group>& groups) {
  std::map<Key, std::uint64_t> weights;  // of every beginning of a key
  for (const auto& [key, group] : groups) {
    for (std::size_t length = 1; length <= key.size(); ++length) {
      weights[Key(key.begin(), key.begin() + static_cast<std::ptrdiff_t>(length))] += group.weight();
    }
  }
  std::vector<Key> keys;
  for (const auto& [key, group] : groups) keys.push_back(key);
  std::ranges::stable_sort(keys, [&](const Key& a, const Key& b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i]) continue;
      if (a[i].number != b[i].number) return a[i].number < b[i].number;
      const auto end = static_cast<std::ptrdiff_t>(i) + 1;
      const std::uint64_t weight_a = weights.at(Key(a.begin(), a.begin() + end));
      const std::uint64_t weight_b = weights.at(Key(b.begin(), b.begin() + end));
      return weight_a != weight_b ? weight_a > weight_b : a[i] < b[i];
    }
    return false;
  });
  return keys;
}

std::vector<std::string> cells_of(const Group& group, bool percentiles) {
  const Statistics& operations = group.operations;
  const std::uint64_t succeeded = operations.calls - std::min(operations.errors, operations.calls);
  const double average = succeeded == 0 ? 0 : static_cast<double>(operations.total) / static_cast<double>(succeeded);
  std::vector<std::string> cells = {count_cell(operations.calls), time_cell(operations.total), time_cell(average)};
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
  const SplitKeys keys(profile);
  std::map<Key, Group> groups;
  for (const TallyRow& row : profile.rows) {
    if (row.statistics.calls == 0) continue;
    Key key;
    for (const SplitBy field : options.by) key.push_back(keys.value(row, field));
    groups[std::move(key)].add(row);
  }
  if (groups.empty()) return {};

  base::Table table = empty_table(options);
  Group all;
  for (const Key& key : ordered_keys(groups)) {
    const Group& group = groups.at(key);
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
  for (const SplitBy field : options.by) fields += (fields.empty() ? " by " : ", ") + std::string(keys.title(field));
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
