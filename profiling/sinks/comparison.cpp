#include "sinks/comparison.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <vector>

#include "base/table.hpp"
#include "sinks/kernel_name.hpp"
#include "sinks/split_keys.hpp"
#include "sinks/wording.hpp"

namespace tutti::profiling {
namespace {

using base::Align;

/// The two or one columns that name a row.
using Names = std::array<std::string, 2>;

struct Pair {
  Statistics before, after;
  bool is_bytes = false;  ///< totals are bytes, not nanoseconds
};
using Pairs = std::map<Names, Pair>;

double average_of(const Statistics& values) {
  return values.calls <= values.errors
             ? 0
             : static_cast<double>(values.total) / static_cast<double>(values.calls - values.errors);
}

/// Whether the change is larger than the spread of the calls. Fewer than kFewestCalls show no spread.
bool is_beyond_spread(const Pair& pair) {
  constexpr std::uint64_t kFewestCalls = 5;
  constexpr double kResolution = 1.125;  // of the histograms
  for (const Statistics* values : {&pair.before, &pair.after}) {
    if (values->calls - std::min(values->errors, values->calls) < kFewestCalls) return false;
  }
  const double before = average_of(pair.before);
  const double after = average_of(pair.after);
  if (std::max(before, after) <= kResolution * std::min(before, after)) return false;
  const bool slower = after > before;
  const Histogram& low = (slower ? pair.before : pair.after).values;
  const Histogram& high = (slower ? pair.after : pair.before).values;
  return low.quantile(0.75) < high.quantile(0.25);
}

std::string mark_of(const Pair& pair) {
  if (pair.before.calls == 0) return "new";
  if (pair.after.calls == 0) return "gone";
  if (!is_beyond_spread(pair)) return "";
  if (pair.is_bytes) return average_of(pair.after) > average_of(pair.before) ? "more" : "less";
  return average_of(pair.after) > average_of(pair.before) ? "SLOWER" : "faster";
}

std::string table_of(const Pairs& pairs, const std::array<const char*, 2>& titles, const base::Style& style,
                     std::size_t width) {
  constexpr std::size_t kMostRows = 40;
  std::vector<const Pairs::value_type*> sorted;
  for (const auto& entry : pairs) sorted.push_back(&entry);
  std::ranges::stable_sort(sorted, std::greater<>{}, [](const auto* entry) {
    const auto [low, high] = std::minmax(entry->second.before.total, entry->second.after.total);
    return high - low;
  });
  const std::size_t left_out = sorted.size() - std::min(sorted.size(), kMostRows);
  sorted.resize(sorted.size() - left_out);

  std::vector<base::Table::Column> columns = {{titles[0]}, {titles[1], Align::right}};
  for (const char* title : {"calls before", "after", "average before", "after", "ratio", "total before", "after"}) {
    columns.push_back({title, Align::right});
  }
  columns.push_back({"change"});
  base::Table table(std::move(columns));
  for (const auto* entry : sorted) {
    const Pair& pair = entry->second;
    const auto cell = [&](double value) {
      return pair.is_bytes ? bytes_cell(static_cast<std::uint64_t>(value)) : time_cell(value);
    };
    const double before = average_of(pair.before);
    const double after = average_of(pair.after);
    table.add({entry->first[0], entry->first[1], count_cell(pair.before.calls), count_cell(pair.after.calls),
               cell(before), cell(after), before == 0 || after == 0 ? "" : base::three_digits(after / before),
               cell(static_cast<double>(pair.before.total)), cell(static_cast<double>(pair.after.total)),
               mark_of(pair)});
  }
  return table.render_parts(style, width, 2) +
         (left_out > 0 ? note(std::to_string(left_out) + " more rows changed less.", width) : "") + "\n";
}

/// Adds the rows of one side. `side` selects the half of a pair.
void add_rows(const Profile& profile, const SizeClasses& sizes, Statistics Pair::*side, Pairs& operations,
              Pairs& functions) {
  for (const TallyRow& row : profile.rows) {
    if (row.statistics.calls == 0) continue;
    if (row.kind == Kind::operation) {
      const ContextRow* context = row_at(profile.contexts, row.context);
      const Names names = {name_cell(context == nullptr ? row.name : context->operation),
                           context == nullptr ? "-" : sizes.name(sizes.class_of(context->bytes))};
      (operations[names].*side).add(row.statistics);
    } else if (row.kind != Kind::allocation && row.kind != Kind::release && row.kind != Kind::stage) {
      const bool device = row.kind == Kind::device;
      const SourceRow* source = row_at(profile.sources, row.source);
      const char* kind = device ? "device" : row.kind == Kind::traffic ? "traffic" : "";
      const Names names = {name_cell(device ? kernel_name(row.name) : row.name),
                           *kind != '\0' ? kind : name_cell(source == nullptr ? "-" : source->title)};
      Pair& pair = functions[names];
      pair.is_bytes = row.kind == Kind::traffic;
      (pair.*side).add(row.statistics);
    }
  }
}

}  // namespace

std::string comparison_text(const Profile& before, const Profile& after, const TextOptions& text) {
  const SizeClasses sizes(std::array{&before, &after});
  Pairs operations;
  Pairs functions;
  add_rows(before, sizes, &Pair::before, operations, functions);
  add_rows(after, sizes, &Pair::after, operations, functions);
  if (operations.empty() && functions.empty()) return {};
  const base::Style style(text.colour);
  std::string out;
  if (!operations.empty()) {
    out += heading(style, "Operations before and after") + table_of(operations, {"op", "size"}, style, text.width);
  }
  if (!functions.empty()) {
    out += heading(style, "Functions before and after") + table_of(functions, {"name", "of"}, style, text.width);
  }
  return out +
         note(
             "SLOWER, faster: the change is beyond the spread of the calls: the middle halves of the times do not "
             "overlap, and the averages differ by more than an eighth, as the times are kept; five calls are needed "
             "for that. One run each says nothing about the spread between runs. Rows are ordered by the change of "
             "their total.",
             text.width) +
         "\n";
}

}  // namespace tutti::profiling
