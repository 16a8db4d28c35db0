#include "replay/replay_rows.hpp"

#include <algorithm>
#include <set>

#include "record/event_cursor.hpp"
#include "record/operation_rules.hpp"

namespace tutti::tools {

namespace {

/// Adds what the record says about a rank. The time of a wait belongs to the operations that it waited for.
class RecordedSum {
 public:
  RecordedSum(const replay::JobRecord& record, const ReplayRows& rows, RecordedTotals& totals)
      : record_(record), rows_(rows), totals_(totals) {}

  void add(const replay::Sequence& sequence, std::size_t place) {
    std::vector<std::vector<std::size_t>> pending;  // rows of what was not waited for
    for (replay::EventCursor cursor(sequence); !cursor.at_end(); cursor.advance()) {
      const replay::Event event = cursor.event();
      const float time = sequence.time(cursor.index(), place);
      if (event.kind == replay::EventKind::operation) {
        const std::size_t row = rows_.of_operation[event.value];
        if (record_.operations[event.value].async) {
          pending.push_back({row});
        } else {
          add_time({row}, time);
        }
      } else if (event.kind == replay::EventKind::group) {
        std::vector<std::size_t> members;
        for (cursor.advance(); cursor.event().kind == replay::EventKind::operation; cursor.advance())
          members.push_back(rows_.of_operation[cursor.event().value]);
        if (event.async) {
          pending.push_back(std::move(members));
        } else {
          add_time(members, time);
        }
      } else if (event.kind == replay::EventKind::wait) {
        const bool all = event.value == replay::kWaitAll;
        const std::size_t first = all ? 0 : event.value;
        const std::size_t count = all ? pending.size() : 1;
        for (std::size_t i = first; i < first + count; ++i) add_time(pending[i], time / static_cast<float>(count));
        const auto begin = pending.begin() + static_cast<std::ptrdiff_t>(first);
        pending.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
      }
    }
    for (const auto& members : pending) add_time(members, replay::kUnknownTime);
  }

 private:
  void add_time(const std::vector<std::size_t>& members, float time) {
    for (const std::size_t row : members) {
      if (replay::is_known(time)) {
        ++totals_.rows[row].calls;
        totals_.rows[row].time_us += static_cast<double>(time) / static_cast<double>(members.size());
      } else {
        ++totals_.unknown[row];
      }
    }
  }

  const replay::JobRecord& record_;
  const ReplayRows& rows_;
  RecordedTotals& totals_;
};

}  // namespace

ReplayRows rows_of(const replay::JobRecord& record, int ranks) {
  const auto row_of = [&](const replay::RecordedOperation& op) {
    return ReplayRow{op.kind, replay::bytes_of(op, record.size_of(op.communicator, ranks))};
  };
  std::set<ReplayRow> distinct;
  for (const replay::RecordedOperation& op : record.operations) distinct.insert(row_of(op));
  ReplayRows result{.rows = {distinct.begin(), distinct.end()}, .of_operation = {}};
  for (const replay::RecordedOperation& op : record.operations) {
    const auto found = std::ranges::lower_bound(result.rows, row_of(op));
    result.of_operation.push_back(static_cast<std::size_t>(found - result.rows.begin()));
  }
  return result;
}

RecordedTotals recorded_totals(const replay::JobRecord& record, const ReplayRows& rows, int ranks) {
  RecordedTotals totals{std::vector<RowTotals>(rows.rows.size()), std::vector<std::uint64_t>(rows.rows.size())};
  RecordedSum sum(record, rows, totals);
  for (const replay::Sequence& sequence : record.sequences) {
    const std::size_t places = sequence.ranks.empty() ? static_cast<std::size_t>(ranks) : sequence.ranks.size();
    for (std::size_t place = 0; place < places; ++place) sum.add(sequence, place);
  }
  return totals;
}

}  // namespace tutti::tools
