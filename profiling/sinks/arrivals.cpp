#include "sinks/arrivals.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "sinks/lookup.hpp"

namespace tutti::profiling {
namespace {

/// A rank's part in an operation, in the clock that all ranks share.
struct Arrival {
  int rank = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  const EventRow* event = nullptr;
};
/// The records of an operation; of one communicator these are in the order of their numbers.
using Meetings = std::map<std::uint64_t, std::vector<Arrival>>;

std::string_view name_of(const Profile& profile, const EventRow& event) {
  if (const ContextRow* context = row_at(profile.contexts, event.context)) return context->operation;
  const std::string* name = row_at(profile.names, event.name);
  return name == nullptr ? std::string_view() : std::string_view(*name);
}

/// Messages number nothing that all ranks share.
bool is_message(std::string_view operation) {
  return operation.find("send") != std::string_view::npos || operation.find("recv") != std::string_view::npos ||
         operation.find("probe") != std::string_view::npos;
}

/// Operations that no rank can leave before all have arrived.
bool is_meeting_of_all(std::string_view operation) {
  constexpr std::array<std::string_view, 6> kNames = {"allreduce", "allgather", "allgatherv",
                                                      "barrier",   "alltoall",  "alltoallv"};
  return std::ranges::find(kNames, operation) != kNames.end();
}

/// Nanoseconds to add to the times of a process: one value per host, whose processes share a clock. Each measured the
/// offset to CLOCK_REALTIME a little differently; the median is as good as any, and the same for all of them.
std::vector<std::int64_t> clock_offsets(const Profile& profile) {
  std::map<std::string_view, std::vector<std::int64_t>> by_host;
  for (const ProcessRow& process : profile.processes) by_host[process.host].push_back(process.realtime_offset);
  for (auto& [host, offsets] : by_host) std::ranges::sort(offsets);
  std::vector<std::int64_t> result;
  for (const ProcessRow& process : profile.processes) {
    const std::vector<std::int64_t>& offsets = by_host[process.host];
    result.push_back(by_host.size() == 1 ? 0 : offsets[offsets.size() / 2]);
  }
  return result;
}

std::int64_t time_in(std::uint64_t time, std::int64_t offset) {
  // Unsigned arithmetic: a damaged file can hold any number.
  return static_cast<std::int64_t>(time + static_cast<std::uint64_t>(offset));
}

/// Times of a file can be anything: differences do not overflow.
std::uint64_t later_by(std::int64_t later, std::int64_t earlier) {
  return later > earlier ? static_cast<std::uint64_t>(later) - static_cast<std::uint64_t>(earlier) : 0;
}

/// Whether all ranks called the same operation once.
bool is_consistent(const Profile& profile, const std::vector<Arrival>& arrivals) {
  std::set<int> ranks;
  for (const Arrival& arrival : arrivals) {
    if (name_of(profile, *arrival.event) != name_of(profile, *arrivals.front().event)) return false;
    if (!ranks.insert(arrival.rank).second) return false;
  }
  return true;
}

OperationKind kind_of(const Profile& profile, const EventRow& event) {
  OperationKind kind;
  kind.operation = name_of(profile, event);
  if (const ContextRow* context = row_at(profile.contexts, event.context)) {
    kind.label = context->label;
    kind.bytes = context->bytes;
  }
  if (const std::string* region = row_at(profile.names, event.region)) kind.region = *region;
  return kind;
}

void compare(const Profile& profile, const std::vector<Arrival>& arrivals, CommunicatorArrivals& result) {
  const auto last = std::ranges::max_element(arrivals, {}, &Arrival::begin);
  OperationArrivals& kind = result.kinds[kind_of(profile, *last->event)];
  std::uint64_t waited_all = 0;
  std::int64_t first_end = arrivals.front().end;
  for (const Arrival& arrival : arrivals) {
    const std::uint64_t duration = later_by(arrival.end, arrival.begin);
    // A rank that may leave early, as the root of a broadcast, has not waited longer than it was there.
    const std::uint64_t waited = std::min(later_by(last->begin, arrival.begin), duration);
    RankArrivals& rank = result.ranks[arrival.rank];
    rank.process = arrival.event->process;
    ++rank.operations;
    rank.waited_ns += waited;
    rank.transfer_ns += duration - waited;
    kind.transfer_ns += duration - waited;
    waited_all += waited;
    first_end = std::min(first_end, arrival.end);
  }
  RankArrivals& late = result.ranks[last->rank];
  ++late.last;
  late.others_waited_ns += waited_all;
  ++kind.operations;
  kind.waited_ns += waited_all;
  ++kind.last[last->rank];
  ++result.compared;
  if (is_meeting_of_all(name_of(profile, *last->event))) {
    result.clock_error_ns = std::max(result.clock_error_ns, later_by(last->begin, first_end));
  }
}

void compare_all(const Profile& profile, const Meetings& meetings, CommunicatorArrivals& result) {
  std::map<int, std::uint64_t> present;  // by rank: incomplete operations that have its record
  for (const auto& [sequence, arrivals] : meetings) {
    if (is_message(name_of(profile, *arrivals.front().event))) continue;
    if (!is_consistent(profile, arrivals)) {
      ++result.unequal;
    } else if (arrivals.size() == static_cast<std::size_t>(result.size)) {
      compare(profile, arrivals, result);
    } else {
      ++result.incomplete;
      for (const Arrival& arrival : arrivals) ++present[arrival.rank];
    }
  }
  constexpr int kMostRanks = 1 << 16;  // a damaged file can hold any size
  for (int rank = 0; result.incomplete > 0 && rank < std::min(result.size, kMostRanks); ++rank) {
    if (const std::uint64_t there = present[rank]; there < result.incomplete) {
      result.missing[rank] = result.incomplete - there;
    }
  }
}

}  // namespace

std::vector<CommunicatorArrivals> compare_arrivals(const Profile& profile) {
  const std::vector<std::int64_t> offsets = clock_offsets(profile);
  std::map<std::uint64_t, Meetings> meetings;  // by key of the communicator
  for (const EventRow& event : profile.events) {
    const CommunicatorRow* communicator = row_at(profile.communicators, event.communicator);
    if (event.kind != Kind::operation || communicator == nullptr || communicator->size < 2) continue;
    if (row_at(profile.processes, event.process) == nullptr) continue;
    const std::int64_t offset = offsets[static_cast<std::size_t>(event.process)];
    meetings[communicator->key][event.sequence].push_back(
        {communicator->rank, time_in(event.begin_ns, offset), time_in(event.end_ns, offset), &event});
  }
  std::vector<CommunicatorArrivals> results;
  std::set<std::uint64_t> done;
  for (const CommunicatorRow& row : profile.communicators) {
    const auto found = meetings.find(row.key);
    if (found == meetings.end() || !done.insert(row.key).second) continue;
    CommunicatorArrivals result{
        .key = row.key, .name = row.name, .size = row.size, .missing = {}, .ranks = {}, .kinds = {}};
    compare_all(profile, found->second, result);
    std::set<std::string_view> hosts;
    for (const CommunicatorRow& member : profile.communicators) {
      const ProcessRow* process = row_at(profile.processes, member.process);
      if (member.key == row.key && process != nullptr) hosts.insert(process->host);
    }
    result.several_hosts = hosts.size() > 1;
    if (result.compared + result.incomplete + result.unequal > 0) results.push_back(std::move(result));
  }
  return results;
}

}  // namespace tutti::profiling
