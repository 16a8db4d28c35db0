#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sinks/arrivals.hpp"
#include "sinks/lookup.hpp"

namespace tutti::profiling {
namespace {

using Interval = std::pair<std::uint64_t, std::uint64_t>;

/// Sorts and merges intervals that touch.
std::vector<Interval> united(std::vector<Interval> intervals) {
  std::ranges::sort(intervals);
  std::vector<Interval> merged;
  for (const Interval& interval : intervals) {
    if (interval.second <= interval.first) continue;
    if (!merged.empty() && interval.first <= merged.back().second) {
      merged.back().second = std::max(merged.back().second, interval.second);
    } else {
      merged.push_back(interval);
    }
  }
  return merged;
}

std::uint64_t length(const std::vector<Interval>& merged) {
  std::uint64_t sum = 0;
  for (const Interval& interval : merged) sum += interval.second - interval.first;
  return sum;
}

/// Length of the part that two merged lists have in common.
std::uint64_t common_length(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::uint64_t begin = std::max(a[i].first, b[j].first);
    const std::uint64_t end = std::min(a[i].second, b[j].second);
    if (end > begin) sum += end - begin;
    a[i].second < b[j].second ? ++i : ++j;
  }
  return sum;
}

/// Events of a thread in the order of their begin.
struct Thread {
  std::vector<const EventRow*> events;  ///< host calls and operations
  std::vector<const EventRow*> device;  ///< work of devices for operations
};

/// Whether the thread began something else, not on behalf of the operation, while it was under way: it had returned
/// from the operation's call then.
bool was_left(const Thread& thread, std::size_t index) {
  const EventRow& operation = *thread.events[index];
  for (std::size_t i = index + 1; i < thread.events.size(); ++i) {
    const EventRow& other = *thread.events[i];
    if (other.begin_ns >= operation.end_ns) return false;
    const bool same_begin = other.begin_ns == operation.begin_ns;
    const bool inner = other.kind == Kind::host && other.context == operation.context;
    if (!same_begin && !inner) return true;
  }
  return false;
}

void measure(const Thread& thread, RankOverlap& rank) {
  std::vector<Interval> under_way;
  std::vector<Interval> in_calls;
  std::set<int> asynchronous_contexts;
  for (std::size_t i = 0; i < thread.events.size(); ++i) {
    const EventRow& event = *thread.events[i];
    const Interval interval(event.begin_ns, event.end_ns);
    if (event.kind == Kind::host) {
      rank.sees_calls = true;
      in_calls.push_back(interval);
      continue;
    }
    ++rank.operations;
    if (was_left(thread, i)) {
      ++rank.asynchronous;
      under_way.push_back(interval);
      asynchronous_contexts.insert(event.context);
    } else {
      in_calls.push_back(interval);
    }
  }
  for (const EventRow* event : thread.device) {
    if (asynchronous_contexts.contains(event->context)) under_way.emplace_back(event->begin_ns, event->end_ns);
  }
  const std::vector<Interval> work = united(std::move(under_way));
  const std::uint64_t all = length(work);
  rank.asynchronous_ns += all;
  rank.free_ns += all - common_length(work, united(std::move(in_calls)));
}

}  // namespace

std::vector<RankOverlap> measure_overlap(const Profile& profile) {
  std::map<int, std::map<std::uint32_t, Thread>> processes;
  for (const EventRow& event : profile.events) {
    if (row_at(profile.processes, event.process) == nullptr) continue;
    if (event.kind == Kind::host || event.kind == Kind::operation) {
      processes[event.process][event.thread].events.push_back(&event);
    } else if (event.kind == Kind::device && event.context >= 0) {
      processes[event.process][event.thread].device.push_back(&event);
    }
  }
  std::vector<RankOverlap> ranks;
  for (auto& [process, threads] : processes) {
    RankOverlap rank{.process = process};
    for (auto& [number, thread] : threads) {
      const auto is_operation = [](const EventRow* event) { return event->kind == Kind::operation; };
      if (std::ranges::none_of(thread.events, is_operation)) continue;
      // An operation comes before the calls that it makes at the same time.
      std::ranges::stable_sort(thread.events, {},
                               [&](const EventRow* event) { return std::pair(event->begin_ns, !is_operation(event)); });
      measure(thread, rank);
    }
    if (rank.operations > 0) ranks.push_back(rank);
  }
  return ranks;
}

}  // namespace tutti::profiling
