#include "report/table_doubts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/tally_units.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

constexpr std::size_t kFewestOthers = 3;  // cells that make a median worth a doubt

ComparisonCell& at(ComparisonCells& cells, Cost cost) { return cells[static_cast<std::size_t>(cost)]; }
const ComparisonCell& at(const ComparisonCells& cells, Cost cost) { return cells[static_cast<std::size_t>(cost)]; }

bool is_complete(const ComparisonCell& cell) { return cell.amount.has_value() && cell.calls.has_value(); }

/// Distance of two numbers of calls on a logarithmic scale.
double distance(std::uint64_t one, std::uint64_t other) {
  return std::abs(std::log((static_cast<double>(one) + 1) / (static_cast<double>(other) + 1)));
}

std::string shown(ComparisonCell cell, Cost cost) {
  cell.mark.clear();
  const std::string amount = cell.amount_text(cost);
  return concat(amount.empty() ? "no amount" : amount, " | ", cell.calls ? std::to_string(*cell.calls) : "no calls");
}

/// Doubts about one backend.
class ColumnDoubts {
 public:
  ColumnDoubts(ComparisonTable& table, ComparisonColumn& column) : table_(table), column_(column) {}

  void mark() {
    for (auto& [bytes, cells] : column_.by_size) swapped_[bytes] = is_swapped(bytes, cells);
    for (auto& [bytes, cells] : column_.by_size) {
      const ComparisonCells original = cells;  // marks would show up in the texts of later doubts
      if (swapped_[bytes]) mark_swapped(bytes, cells, original);
      mark_unreadable(bytes, cells, original);
      mark_calls(bytes, cells, original);
      mark_halves(bytes, cells, original);
      mark_empty(bytes, cells, original);
    }
  }

 private:
  /// Median of the calls at the other sizes, those left out whose host and device are swapped.
  [[nodiscard]] std::optional<std::uint64_t> usual_calls(Cost cost, std::uint64_t besides) const {
    std::vector<std::uint64_t> calls;
    for (const auto& [bytes, cells] : column_.by_size) {
      const auto found = swapped_.find(bytes);
      if (bytes == besides || !is_complete(at(cells, cost)) || (found != swapped_.end() && found->second)) continue;
      calls.push_back(*at(cells, cost).calls);
    }
    if (calls.size() < kFewestOthers) return std::nullopt;
    std::ranges::nth_element(calls, calls.begin() + static_cast<std::ptrdiff_t>(calls.size() / 2));
    return calls[calls.size() / 2];
  }

  [[nodiscard]] bool is_swapped(std::uint64_t bytes, const ComparisonCells& cells) const {
    const ComparisonCell& host = at(cells, Cost::host);
    const ComparisonCell& device = at(cells, Cost::device);
    const auto host_calls = usual_calls(Cost::host, bytes);
    const auto device_calls = usual_calls(Cost::device, bytes);
    if (!is_complete(host) || !is_complete(device) || !host_calls || !device_calls) return false;
    const double as_it_is = distance(*host.calls, *host_calls) + distance(*device.calls, *device_calls);
    const double exchanged = distance(*host.calls, *device_calls) + distance(*device.calls, *host_calls);
    return exchanged + std::log(4) < as_it_is;
  }

  void doubt(std::uint64_t bytes, const std::vector<std::reference_wrapper<ComparisonCell>>& cells,
             const std::string& reason) {
    const std::string mark = concat('[', ++number_of_doubts(), ']');
    for (ComparisonCell& cell : cells) cell.mark += mark;
    table_.remarks.push_back(concat(mark, ' ', column_.name, " at ", format_bytes(bytes), ": ", reason));
  }

  /// Remarks of doubts are numbered through the table.
  [[nodiscard]] std::size_t& number_of_doubts() {
    if (number_ == 0) {
      number_ = static_cast<std::size_t>(
          std::ranges::count_if(table_.remarks, [](const std::string& remark) { return remark.starts_with('['); }));
    }
    return number_;
  }

  void mark_swapped(std::uint64_t bytes, ComparisonCells& cells, const ComparisonCells& original) {
    doubt(bytes, {at(cells, Cost::host), at(cells, Cost::device)},
          concat("host (", shown(at(original, Cost::host), Cost::host), ") and device (",
                 shown(at(original, Cost::device), Cost::device),
                 ") look swapped: at the other sizes the host has about ", *usual_calls(Cost::host, bytes),
                 " calls and the device ", *usual_calls(Cost::device, bytes)));
  }

  void mark_unreadable(std::uint64_t bytes, ComparisonCells& cells, const ComparisonCells& original) {
    for (const CostTraits& part : kCosts) {
      const std::string& text = at(cells, part.cost).text;
      if (text.empty()) continue;
      const std::span<const base::TallyUnit> others =
          part.is_bytes ? std::span(base::kTallyTimeUnits) : std::span(base::kTallyByteUnits);
      const bool is_other = base::parse_tally_units(text, others).has_value();
      const std::string problem =
          is_other ? concat('"', text, "\" is ",
                            part.is_bytes ? "a time in a column of bytes" : "an amount of bytes in a column of times")
                   : concat('"', text, "\" is no amount with a unit of ", part.is_bytes ? "bytes" : "time");
      doubt(bytes, {at(cells, part.cost)},
            concat(problem, " (", part.name, ')', is_other ? origin_of(original, part.cost) : ""));
    }
  }

  /// The empty part at this size whose calls at some other size are like those of a cell with a foreign unit.
  [[nodiscard]] std::string origin_of(const ComparisonCells& cells, Cost misplaced) const {
    const auto calls = at(cells, misplaced).calls;
    if (!calls) return {};
    for (const CostTraits& part : kCosts) {
      if (part.is_bytes == traits(misplaced).is_bytes || !at(cells, part.cost).is_empty()) continue;
      for (const auto& [bytes, others] : column_.by_size) {
        const ComparisonCell& other = at(others, part.cost);
        if (is_complete(other) && distance(*calls, *other.calls) < 0.1) {
          return concat("; with ", *calls, " calls it is like the ", part.name, " at ", format_bytes(bytes), " (",
                        shown(other, part.cost), "), and the ", part.name, " is empty here");
        }
      }
    }
    return {};
  }

  void mark_calls(std::uint64_t bytes, ComparisonCells& cells, const ComparisonCells& original) {
    for (const bool few : {true, false}) {
      std::vector<std::reference_wrapper<ComparisonCell>> doubtful;
      std::vector<std::string> numbers;
      for (const CostTraits& part : kCosts) {
        const ComparisonCell& cell = at(original, part.cost);
        const auto usual = usual_calls(part.cost, bytes);
        if (!is_complete(cell) || (swapped_[bytes] && !part.is_bytes) || !usual) continue;
        if (few ? *cell.calls * 2 >= *usual : *cell.calls <= *usual * 2) continue;
        doubtful.emplace_back(at(cells, part.cost));
        numbers.push_back(concat(*cell.calls, ' ', part.name, " calls (usually ", *usual, ')'));
      }
      if (doubtful.empty()) continue;
      doubt(bytes, doubtful,
            concat(few ? "few calls: " : "many calls: ", join(numbers, ", "),
                   few ? "; the run probably ended early" : ""));
    }
  }

  void mark_halves(std::uint64_t bytes, ComparisonCells& cells, const ComparisonCells& original) {
    for (const CostTraits& part : kCosts) {
      const ComparisonCell& cell = at(original, part.cost);
      if (cell.is_empty() || !cell.text.empty() || is_complete(cell)) continue;
      doubt(bytes, {at(cells, part.cost)},
            concat(part.name, " has ", cell.amount ? "an amount without calls" : "calls without an amount"));
    }
  }

  void mark_empty(std::uint64_t bytes, ComparisonCells& cells, const ComparisonCells& original) {
    std::vector<Cost> empty;
    std::vector<std::string> names;
    std::size_t parts = 0;
    for (const CostTraits& part : kCosts) {
      const auto has_it = [&](const auto& entry) { return !at(entry.second, part.cost).is_empty(); };
      if (std::ranges::none_of(column_.by_size, has_it)) continue;  // a part that the backend does not have
      ++parts;
      if (!at(original, part.cost).is_empty()) continue;
      empty.push_back(part.cost);
      names.emplace_back(part.name);
    }
    if (empty.empty()) return;
    const bool all = empty.size() == parts;
    std::vector<std::reference_wrapper<ComparisonCell>> doubtful;
    for (const Cost cost : empty) doubtful.emplace_back(at(cells, cost));
    doubt(bytes, doubtful,
          all ? "all cells are empty: the run failed, or was not made"
              : concat("no ", join(names, " and no "), " values, though other parts have some"));
  }

  ComparisonTable& table_;
  ComparisonColumn& column_;
  std::map<std::uint64_t, bool> swapped_ = {};
  std::size_t number_ = 0;
};

}  // namespace

void mark_doubts(ComparisonTable& table) {
  for (ComparisonColumn& column : table.columns) ColumnDoubts(table, column).mark();
}

}  // namespace tutti::tools
