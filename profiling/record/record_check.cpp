#include "record/record_check.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

#include "record/event_cursor.hpp"
#include "record/operation_rules.hpp"
#include "record/record_text.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::replay {

namespace {

[[noreturn]] void fail(const std::string& text) {
  throw Error(ErrorCode::invalid_argument, "the record cannot be replayed: " + text);
}

/// A collective that some members of a communicator have called.
struct Meeting {
  std::vector<const RecordedOperation*> calls;  ///< by member
  std::size_t arrived = 0;
};

/// Collectives of a communicator; those that all have called are forgotten.
struct Collectives {
  std::vector<std::uint64_t> called;  ///< by member
  std::uint64_t first = 0;            ///< number of the front of `meetings`
  std::deque<Meeting> meetings;
};

/// Messages from one rank to another, in order; those that have met are forgotten.
struct Channel {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::deque<const RecordedOperation*> unmatched;  ///< sends or recvs
};

/// An operation under way.
struct Ticket {
  const RecordedOperation* op = nullptr;
  const Collectives* collectives = nullptr;
  const Channel* channel = nullptr;
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;

  [[nodiscard]] bool is_done() const noexcept {
    if (collectives != nullptr) return number < collectives->first;
    return channel == nullptr || number < channel->sent;
  }
};
using Tickets = std::vector<Ticket>;

bool all_done(const Tickets& tickets) { return std::ranges::all_of(tickets, &Ticket::is_done); }

struct Rank {
  explicit Rank(const Sequence& sequence) : cursor(sequence) {}
  EventCursor cursor;
  std::vector<Tickets> pending;
  Tickets blocking;
  std::uint64_t live_bytes = 0;
  bool is_finished = false;
};

class Checker {
 public:
  Checker(const JobRecord& record, int ranks) : record_(record) {
    plan_.ranks = record.ranks == 0 ? ranks : record.ranks;
    if (record.ranks != 0 && ranks != 0 && ranks != record.ranks)
      throw Error(ErrorCode::invalid_argument, "the record is of " + std::to_string(record.ranks) +
                                                   " ranks and cannot be replayed on " + std::to_string(ranks));
    if (plan_.ranks < 1) throw Error(ErrorCode::invalid_argument, "the number of ranks is not given");
    place_ranks();
    collectives_.resize(record.communicators.size());
    members_.resize(record.communicators.size());
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const std::vector<int>& ranks_of = record.communicators[i].ranks;
      collectives_[i].called.resize(ranks_of.empty() ? static_cast<std::size_t>(plan_.ranks) : ranks_of.size());
      for (std::size_t member = 0; member < ranks_of.size(); ++member)
        members_[i][ranks_of[member]] = static_cast<int>(member);
    }
    for (const RecordedOperation& op : record.operations) {
      if (record.ranks == 0) check_for_ranks(op);
    }
  }

  ReplayPlan run() {
    for (int rank = 0; rank < plan_.ranks; ++rank)
      ranks_.emplace_back(record_.sequences[plan_.sequence_of[static_cast<std::size_t>(rank)]]);
    bool has_moved = true;
    while (has_moved) {
      has_moved = false;
      for (int rank = 0; rank < plan_.ranks; ++rank) has_moved = move(rank) || has_moved;
    }
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      if (!ranks_[static_cast<std::size_t>(rank)].is_finished) report_stuck(rank);
    }
    for (const auto& [key, channel] : channels_) {
      if (!channel.unmatched.empty())
        fail(std::to_string(channel.unmatched.size()) + " messages of rank " + std::to_string(std::get<1>(key)) +
             " to rank " + std::to_string(std::get<2>(key)) +
             " are never received; the first: " + described(*channel.unmatched.front()));
    }
    return std::move(plan_);
  }

 private:
  void place_ranks() {
    const auto count = static_cast<std::size_t>(plan_.ranks);
    plan_.sequence_of.resize(count);
    plan_.place_of.resize(count);
    plan_.peak_bytes.resize(count);
    plan_.operations.resize(count);
    plan_.gap_us.resize(count);
    for (std::size_t i = 0; i < record_.sequences.size(); ++i) {
      const Sequence& sequence = record_.sequences[i];
      const std::size_t places = sequence.ranks.empty() ? count : sequence.ranks.size();
      for (std::size_t place = 0; place < places; ++place) {
        const std::size_t rank = sequence.ranks.empty() ? place : static_cast<std::size_t>(sequence.ranks[place]);
        plan_.sequence_of[rank] = i;
        plan_.place_of[rank] = place;
      }
    }
  }

  void check_for_ranks(const RecordedOperation& op) const {
    try {
      check_operation(op, plan_.ranks);
    } catch (const LineError& error) {
      fail(described(op) + " on " + std::to_string(plan_.ranks) + " ranks: " + error.what());
    }
  }

  [[nodiscard]] std::string described(const RecordedOperation& op) const {
    return spi::printable(operation_text(op, record_.communicators[op.communicator].number), 200);
  }

  [[nodiscard]] int member_of(std::uint32_t communicator, int rank) const {
    const auto& members = members_[communicator];
    return members.empty() ? rank : members.at(rank);
  }
  [[nodiscard]] int job_rank_of(std::uint32_t communicator, int member) const {
    const auto& ranks = record_.communicators[communicator].ranks;
    return ranks.empty() ? member : ranks[static_cast<std::size_t>(member)];
  }

  /// Lets a rank go on until it has to wait for others; false if it cannot.
  bool move(int number) {
    Rank& rank = ranks_[static_cast<std::size_t>(number)];
    bool has_moved = false;
    while (!rank.is_finished && all_done(rank.blocking)) {
      has_moved = true;
      release(rank, rank.blocking);
      if (rank.cursor.at_end()) {
        if (rank.pending.empty()) {
          rank.is_finished = true;
        } else {
          wait_for(rank, 0);
        }
        continue;
      }
      step(number, rank);
    }
    return has_moved;
  }

  void step(int number, Rank& rank) {
    const auto self = static_cast<std::size_t>(number);
    const Sequence& sequence = record_.sequences[plan_.sequence_of[self]];
    const Event event = rank.cursor.event();
    plan_.gap_us[self] += static_cast<double>(sequence.gap(rank.cursor.index(), plan_.place_of[self]));
    if (event.kind == EventKind::operation) {
      const RecordedOperation& op = record_.operations[event.value];
      Tickets tickets = {call(number, op)};
      if (op.async) {
        rank.pending.push_back(std::move(tickets));
      } else {
        rank.blocking = std::move(tickets);
      }
    } else if (event.kind == EventKind::group) {
      Tickets tickets;
      for (rank.cursor.advance(); rank.cursor.event().kind == EventKind::operation; rank.cursor.advance())
        tickets.push_back(call(number, record_.operations[rank.cursor.event().value]));
      (event.async ? rank.pending.emplace_back() : rank.blocking) = std::move(tickets);
    } else if (event.kind == EventKind::wait) {
      if (event.value == kWaitAll) {
        while (!rank.pending.empty()) wait_for(rank, 0);
      } else if (event.value >= rank.pending.size()) {
        fail("rank " + std::to_string(number) + " waits for pending operation " + std::to_string(event.value) +
             ", but has " + std::to_string(rank.pending.size()) + " (event " + std::to_string(rank.cursor.index()) +
             ")");
      } else {
        wait_for(rank, event.value);
      }
    }
    rank.cursor.advance();
  }

  static void wait_for(Rank& rank, std::size_t index) {
    const auto place = rank.pending.begin() + static_cast<std::ptrdiff_t>(index);
    rank.blocking.insert(rank.blocking.end(), place->begin(), place->end());
    rank.pending.erase(place);
  }

  static void release(Rank& rank, Tickets& tickets) {
    for (const Ticket& ticket : tickets) rank.live_bytes -= ticket.bytes;
    tickets.clear();
  }

  Ticket call(int number, const RecordedOperation& op) {
    Rank& rank = ranks_[static_cast<std::size_t>(number)];
    const int size = record_.size_of(op.communicator, plan_.ranks);
    const int member = member_of(op.communicator, number);
    const std::uint64_t elements = input_elements(op, member, size) + output_elements(op, member, size);
    Ticket ticket{.op = &op, .bytes = elements * tutti::size_of(op.type)};
    rank.live_bytes += ticket.bytes;
    auto& peak = plan_.peak_bytes[static_cast<std::size_t>(number)];
    peak = std::max(peak, rank.live_bytes);
    ++plan_.operations[static_cast<std::size_t>(number)];
    if (is_message(op.kind)) {
      exchange(member, number, op, ticket);
    } else {
      meet(static_cast<std::size_t>(member), number, op, ticket);
    }
    return ticket;
  }

  void exchange(int member, int number, const RecordedOperation& op, Ticket& ticket) {
    const bool sends = op.kind == OpKind::send;
    const int peer = job_rank_of(op.communicator, op.root);
    (void)member;
    Channel& channel = channels_[{op.communicator, sends ? number : peer, sends ? peer : number, op.tag}];
    if (!channel.unmatched.empty() && channel.unmatched.front()->kind != op.kind) {
      const RecordedOperation& other = *channel.unmatched.front();
      if (other.count != op.count || other.type != op.type)
        fail("rank " + std::to_string(number) + " calls " + described(op) + ", rank " + std::to_string(peer) + " " +
             described(other));
      channel.unmatched.pop_front();
    } else {
      channel.unmatched.push_back(&op);
    }
    if (sends) {
      ++channel.sent;  // done: buffered
    } else {
      ticket.channel = &channel;
      ticket.number = channel.received++;
    }
  }

  void meet(std::size_t member, int number, const RecordedOperation& op, Ticket& ticket) {
    Collectives& all = collectives_[op.communicator];
    ticket.collectives = &all;
    ticket.number = all.called[member]++;
    const std::uint64_t place = ticket.number - all.first;
    while (all.meetings.size() <= place) all.meetings.emplace_back().calls.resize(all.called.size());
    Meeting& meeting = all.meetings[place];
    const auto other = std::ranges::find_if(meeting.calls, [](const auto* call) { return call != nullptr; });
    if (other != meeting.calls.end() && *other != &op) {
      if (const std::string difference = difference_of(**other, op); !difference.empty())
        fail("collective " + std::to_string(ticket.number) + " of communicator " +
             std::to_string(record_.communicators[op.communicator].number) + " differs in its " + difference +
             ": rank " + std::to_string(number) + " calls " + described(op) + ", rank " +
             std::to_string(job_rank_of(op.communicator, static_cast<int>(other - meeting.calls.begin()))) + " " +
             described(**other));
    }
    meeting.calls[member] = &op;
    if (++meeting.arrived < meeting.calls.size()) return;
    check_counts(meeting, op);
    // In order: no member calls the next one before this one.
    while (!all.meetings.empty() && all.meetings.front().arrived == all.called.size()) {
      all.meetings.pop_front();
      ++all.first;
    }
  }

  [[nodiscard]] static std::string difference_of(const RecordedOperation& a, const RecordedOperation& b) {
    const OpTraits& row = traits(a.kind);
    if (a.kind != b.kind) return "operation";
    if (a.type != b.type) return "type";
    if (row.reduces && a.reduction != b.reduction) return "reduction";
    if (row.rooted && a.root != b.root) return "root";
    if (!is_vector(a.kind) && a.count != b.count) return "count";
    return {};
  }

  /// Counts that differ between the ranks of a vector operation must fit each other.
  void check_counts(const Meeting& meeting, const RecordedOperation& op) const {
    const std::size_t size = meeting.calls.size();
    const auto require = [&](bool fits, std::size_t a, std::size_t b) {
      if (!fits)
        fail("counts of ranks " + std::to_string(job_rank_of(op.communicator, static_cast<int>(a))) + " and " +
             std::to_string(job_rank_of(op.communicator, static_cast<int>(b))) +
             " do not fit: " + described(*meeting.calls[a]) + " and " + described(*meeting.calls[b]));
    };
    if (has_common_counts(op.kind)) {
      const auto list_of = [](const RecordedOperation* call) { return call->in.empty() ? &call->out : &call->in; };
      for (std::size_t i = 0; i < size; ++i) {
        require(*list_of(meeting.calls[i]) == *list_of(meeting.calls[0]), i, 0);
        require(meeting.calls[i]->count == (*list_of(meeting.calls[i]))[i], i, i);
      }
    } else if (op.kind == OpKind::gatherv || op.kind == OpKind::scatterv) {
      const auto root = static_cast<std::size_t>(op.root);
      const RecordedOperation& its = *meeting.calls[root];
      const std::vector<std::uint64_t>& list = op.kind == OpKind::gatherv ? its.out : its.in;
      if (list.size() != size) fail("the root of " + described(its) + " has no list of counts");
      for (std::size_t i = 0; i < size; ++i) require(meeting.calls[i]->count == list[i], i, root);
    } else if (op.kind == OpKind::alltoallv) {
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < size; ++j) require(meeting.calls[i]->in[j] == meeting.calls[j]->out[i], i, j);
      }
    }
  }

  [[noreturn]] void report_stuck(int number) const {
    const Rank& rank = ranks_[static_cast<std::size_t>(number)];
    const Ticket& ticket = *std::ranges::find_if_not(rank.blocking, &Ticket::is_done);
    const RecordedOperation& op = *ticket.op;
    std::string text = "rank " + std::to_string(number) + " would wait for ever in " + described(op);
    if (ticket.collectives != nullptr) {
      std::vector<int> absent;
      const auto& called = ticket.collectives->called;
      for (std::size_t member = 0; member < called.size(); ++member) {
        if (called[member] <= ticket.number) absent.push_back(job_rank_of(op.communicator, static_cast<int>(member)));
      }
      text += ": rank " + ranks_text(absent) + " never calls it";
    } else {
      text += ": rank " + std::to_string(job_rank_of(op.communicator, op.root)) + " never sends that message";
    }
    fail(
        text +
        "; ranks that were killed while they were recorded, or that used several threads, leave such records: --prefix "
        "replays the operations before that");
  }

  const JobRecord& record_;
  ReplayPlan plan_;
  std::vector<Rank> ranks_;
  std::vector<Collectives> collectives_;     ///< by communicator
  std::vector<std::map<int, int>> members_;  ///< by communicator: member of a rank; empty: the same
  std::map<std::tuple<std::uint32_t, int, int, std::int32_t>, Channel> channels_;
};

}  // namespace

ReplayPlan check(const JobRecord& record, int ranks) { return Checker(record, ranks).run(); }

}  // namespace tutti::replay
