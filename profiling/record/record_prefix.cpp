#include "record/record_prefix.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "record/event_cursor.hpp"
#include "tutti/error.hpp"

namespace tutti::replay {

namespace {

/// A rank's events, up to its end as far as it is known.
struct Rank {
  std::size_t sequence = 0;
  std::size_t place = 0;  ///< in the sequence
  std::uint64_t end = std::numeric_limits<std::uint64_t>::max();
};

/// Operations that have to find a partner: collectives of a communicator by member, messages by sender, receiver, tag.
struct Partners {
  std::map<std::pair<std::uint32_t, int>, std::uint64_t> collectives;
  using Channel = std::tuple<std::uint32_t, int, int, std::int32_t>;
  std::map<Channel, std::uint64_t> sent, received;
};

class Trimmer {
 public:
  explicit Trimmer(JobRecord& record) : record_(record), ranks_(static_cast<std::size_t>(record.ranks)) {
    for (std::size_t i = 0; i < record.sequences.size(); ++i) {
      const std::vector<int>& members = record.sequences[i].ranks;
      for (std::size_t place = 0; place < (members.empty() ? ranks_.size() : members.size()); ++place) {
        const std::size_t rank = members.empty() ? place : static_cast<std::size_t>(members[place]);
        ranks_[rank] = {.sequence = i, .place = place};
      }
    }
  }

  /// Shortens ranks until every operation has its partners; false if they had them from the start.
  bool trim() {
    bool has_cut = false;
    for (bool goes_on = true; goes_on; has_cut = has_cut || goes_on) {
      const Partners all = count();
      goes_on = false;
      for (int rank = 0; rank < record_.ranks; ++rank) goes_on = cut(rank, all) || goes_on;
    }
    return has_cut;
  }

  [[nodiscard]] std::uint64_t operations() {
    std::uint64_t sum = 0;
    for (int rank = 0; rank < record_.ranks; ++rank) {
      walk(rank, [&](const RecordedOperation&) {
        ++sum;
        return true;
      });
    }
    return sum;
  }

  [[nodiscard]] std::vector<Sequence> sequences() const {
    std::map<std::pair<std::size_t, std::uint64_t>, std::vector<int>> same;
    for (int rank = 0; rank < record_.ranks; ++rank) same[{of(rank).sequence, of(rank).end}].push_back(rank);
    std::vector<Sequence> made;
    for (const auto& [key, ranks] : same) made.push_back(shortened(ranks));
    return made;
  }

 private:
  [[nodiscard]] Rank& of(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const Rank& of(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  /// Calls `take(operation)` for a rank's operations until one returns false. Returns the number of events before that
  /// one, or before the group that holds it; or the rank's end.
  template <typename Take>
  std::uint64_t walk(int number, Take take) {
    const Rank& rank = of(number);
    EventCursor cursor(record_.sequences[rank.sequence]);
    std::uint64_t events = 0;
    std::uint64_t group = 0;
    bool in_group = false;
    for (; !cursor.at_end() && events < rank.end; cursor.advance(), ++events) {
      const Event& event = cursor.event();
      if (event.kind == EventKind::group) {
        in_group = true;
        group = events;
      } else if (event.kind == EventKind::end) {
        in_group = false;
      } else if (event.kind == EventKind::operation && !take(record_.operations[event.value])) {
        return in_group ? group : events;
      }
    }
    return rank.end;
  }

  [[nodiscard]] int member(std::uint32_t communicator, int index) const {
    const std::vector<int>& members = record_.communicators[communicator].ranks;
    return members.empty() ? index : members[static_cast<std::size_t>(index)];
  }

  /// Adds an operation of a rank; returns its number among those that meet the same partners.
  std::uint64_t add(Partners& partners, int rank, const RecordedOperation& op) const {
    if (!is_message(op.kind)) return partners.collectives[{op.communicator, rank}]++;
    const int peer = member(op.communicator, op.root);
    return op.kind == OpKind::send ? partners.sent[{op.communicator, rank, peer, op.tag}]++
                                   : partners.received[{op.communicator, peer, rank, op.tag}]++;
  }

  Partners count() {
    Partners all;
    for (int rank = 0; rank < record_.ranks; ++rank) {
      walk(rank, [&](const RecordedOperation& op) {
        (void)add(all, rank, op);
        return true;
      });
    }
    return all;
  }

  /// Number of operations like this one that find their partners.
  [[nodiscard]] std::uint64_t met(const Partners& all, int rank, const RecordedOperation& op) const {
    const auto in = [](const auto& map, const auto& key) {
      const auto found = map.find(key);
      return found == map.end() ? 0 : found->second;
    };
    if (is_message(op.kind)) {
      const int peer = member(op.communicator, op.root);
      const bool sends = op.kind == OpKind::send;
      const Partners::Channel channel = {op.communicator, sends ? rank : peer, sends ? peer : rank, op.tag};
      return std::min(in(all.sent, channel), in(all.received, channel));
    }
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    const int size = record_.size_of(op.communicator, record_.ranks);
    for (int i = 0; i < size; ++i)
      least =
          std::min<std::uint64_t>(least, in(all.collectives, std::pair(op.communicator, member(op.communicator, i))));
    return least;
  }

  /// Ends a rank before its first operation without partners; false if it has none.
  bool cut(int rank, const Partners& all) {
    Partners own;
    // The same communicator and channel come again and again.
    std::map<std::uint32_t, std::uint64_t> met_collectives;
    const std::uint64_t end = walk(rank, [&](const RecordedOperation& op) {
      const std::uint64_t number = add(own, rank, op);
      if (is_message(op.kind)) return number < met(all, rank, op);
      auto [known, is_new] = met_collectives.try_emplace(op.communicator, 0);
      if (is_new) known->second = met(all, rank, op);
      return number < known->second;
    });
    const bool is_shorter = end < of(rank).end;
    of(rank).end = end;
    return is_shorter;
  }

  /// One sequence of ranks whose events are the same.
  [[nodiscard]] Sequence shortened(const std::vector<int>& ranks) const {
    const Rank& first = of(ranks.front());
    const Sequence& source = record_.sequences[first.sequence];
    Sequence made{.ranks = ranks, .events = {}, .gaps = {}, .times = {}, .width = ranks.size()};
    EventCursor cursor(source);
    for (std::uint64_t events = 0; !cursor.at_end() && events < first.end; cursor.advance(), ++events) {
      made.events.push_back(cursor.event());
      for (const int rank : ranks) {
        made.gaps.push_back(source.gap(cursor.index(), of(rank).place));
        made.times.push_back(source.time(cursor.index(), of(rank).place));
      }
    }
    return made;
  }

  JobRecord& record_;
  std::vector<Rank> ranks_;
};

}  // namespace

RecordPrefix common_prefix(JobRecord record) {
  RecordPrefix prefix;
  if (record.ranks == 0) {  // all ranks have the same events
    prefix.record = std::move(record);
    return prefix;
  }
  Trimmer trimmer(record);
  const std::uint64_t all = trimmer.operations();
  const bool has_cut = trimmer.trim();
  prefix.kept = trimmer.operations();
  prefix.dropped = all - prefix.kept;
  if (has_cut && prefix.kept == 0)
    throw Error(ErrorCode::invalid_argument,
                "the record has no prefix that can be replayed: the first operation of every rank lacks a partner");
  if (has_cut) record.sequences = trimmer.sequences();
  prefix.record = std::move(record);
  return prefix;
}

}  // namespace tutti::replay
