#include "report/clock_alignment.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstdio>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace tutti::profiling {

namespace {

constexpr std::int64_t kUnbounded = INT64_MAX / 4;

/// Offsets of processes on one host that differ by more belong to different machines with the same name.
constexpr std::int64_t kSameClock = 100'000'000;

/// Bound of the work for the comparison: operations x clocks^2, and clocks^3.
constexpr std::size_t kMostClocks = 1000;
constexpr std::size_t kMostSteps = 100'000'000;

/// Processes that share a clock.
struct Clock {
  std::string_view host;
  std::vector<int> processes;
};

/// The clocks of the profile; that of the lowest rank comes first.
std::vector<Clock> find_clocks(const Profile& profile) {
  std::vector<int> order(profile.processes.size());
  for (std::size_t index = 0; index < order.size(); ++index) order[index] = static_cast<int>(index);
  const auto row = [&](int index) -> const ProcessRow& { return profile.processes[static_cast<std::size_t>(index)]; };
  std::sort(order.begin(), order.end(), [&](int left, int right) {
    return std::tie(row(left).host, row(left).realtime_offset) < std::tie(row(right).host, row(right).realtime_offset);
  });
  std::vector<Clock> clocks;
  for (const int index : order) {
    const bool same = !clocks.empty() && clocks.back().host == row(index).host &&
                      row(index).realtime_offset - row(clocks.back().processes.back()).realtime_offset <= kSameClock;
    if (!same) clocks.push_back({row(index).host, {}});
    clocks.back().processes.push_back(index);
  }
  const auto lowest_rank = [&](const Clock& clock) {
    unsigned lowest = UINT_MAX;
    for (const int index : clock.processes) lowest = std::min(lowest, static_cast<unsigned>(row(index).rank));
    return lowest;
  };
  std::stable_sort(clocks.begin(), clocks.end(),
                   [&](const Clock& left, const Clock& right) { return lowest_rank(left) < lowest_rank(right); });
  return clocks;
}

/// Gives processes of a clock the same offset: that of each was read in two steps between which it may have slept.
void share_offsets(Profile& profile, const std::vector<Clock>& clocks) {
  for (const Clock& clock : clocks) {
    const int median = clock.processes[clock.processes.size() / 2];
    const std::int64_t offset = profile.processes[static_cast<std::size_t>(median)].realtime_offset;
    for (const int index : clock.processes) profile.processes[static_cast<std::size_t>(index)].realtime_offset = offset;
  }
}

/// Part of a process in a collective.
struct Participation {
  std::uint64_t communicator = 0;
  std::uint64_t sequence = 0;
  std::size_t clock = 0;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

bool synchronizes(const Profile& profile, const EventRow& event) {
  constexpr std::array<std::string_view, 5> names = {"allreduce", "allgather", "alltoall", "reduce_scatter", "barrier"};
  if (event.kind != Kind::operation || event.error != 0 || event.communicator < 0 || event.name >= profile.names.size())
    return false;
  const std::string& name = profile.names[event.name];
  if (std::find(names.begin(), names.end(), name) == names.end()) return false;
  // An operation without data need not wait for anybody.
  const auto context = static_cast<std::size_t>(event.context);
  const bool known = event.context >= 0 && context < profile.contexts.size();
  return name == "barrier" || event.bytes != 0 || (known && profile.contexts[context].bytes != 0);
}

std::vector<Participation> participations(const Profile& profile, const std::vector<Clock>& clocks) {
  std::vector<std::size_t> clock_of(profile.processes.size(), 0);
  for (std::size_t clock = 0; clock < clocks.size(); ++clock) {
    for (const int process : clocks[clock].processes) clock_of[static_cast<std::size_t>(process)] = clock;
  }
  std::vector<Participation> all;
  for (const EventRow& event : profile.events) {
    const auto process = static_cast<std::size_t>(event.process);
    const auto communicator = static_cast<std::size_t>(event.communicator);
    if (!synchronizes(profile, event) || process >= clock_of.size() || communicator >= profile.communicators.size())
      continue;
    // Times of damaged records are bounded, so that sums of their differences do not overflow.
    const auto shared = [&](std::uint64_t time_ns) {
      const auto offset = static_cast<std::uint64_t>(profile.processes[process].realtime_offset);
      return static_cast<std::int64_t>(std::min<std::uint64_t>(time_ns + offset, kUnbounded));
    };
    all.push_back({profile.communicators[communicator].key, event.sequence, clock_of[process], shared(event.begin_ns),
                   shared(event.end_ns)});
  }
  std::sort(all.begin(), all.end(), [](const Participation& left, const Participation& right) {
    return std::tie(left.communicator, left.sequence, left.clock) <
           std::tie(right.communicator, right.sequence, right.clock);
  });
  return all;
}

/// Bounds of the differences between clocks: the shift of clock `to` is at most that of `from` plus slack(from, to).
class Bounds {
 public:
  explicit Bounds(std::size_t clocks) : clocks_(clocks), slack_(clocks * clocks, kUnbounded) {
    for (std::size_t clock = 0; clock < clocks; ++clock) slack(clock, clock) = 0;
  }

  [[nodiscard]] std::int64_t& slack(std::size_t from, std::size_t to) { return slack_[from * clocks_ + to]; }

  /// Adds the bounds of a collective; `parts` are ordered by clock. Returns false if it bounds nothing.
  bool add(const Participation* first, const Participation* last) {
    seen_.clear();
    for (const Participation* part = first; part != last; ++part) {
      if (seen_.empty() || seen_.back().clock != part->clock) {
        seen_.push_back(*part);
      } else {
        seen_.back().begin_ns = std::max(seen_.back().begin_ns, part->begin_ns);
        seen_.back().end_ns = std::min(seen_.back().end_ns, part->end_ns);
      }
    }
    // By one clock a rank left before another one arrived: the end of such an operation is not that of the collective.
    const auto early = [](const Participation& part) { return part.end_ns < part.begin_ns; };
    if (seen_.size() < 2 || std::any_of(seen_.begin(), seen_.end(), early)) return false;
    for (const Participation& from : seen_) {
      for (const Participation& to : seen_) {
        if (from.clock == to.clock) continue;
        std::int64_t& bound = slack(from.clock, to.clock);
        bound = std::min(bound, from.end_ns - to.begin_ns);
      }
    }
    return true;
  }

  /// Makes each bound the tightest that follows from all. Returns false if they contradict each other.
  bool close() {
    for (std::size_t middle = 0; middle < clocks_; ++middle) {
      for (std::size_t from = 0; from < clocks_; ++from) {
        const std::int64_t first = slack(from, middle);
        if (first >= kUnbounded) continue;
        for (std::size_t to = 0; to < clocks_; ++to) {
          if (const std::int64_t second = slack(middle, to); second < kUnbounded)
            slack(from, to) = std::min(slack(from, to), std::max(first + second, -kUnbounded));
        }
      }
    }
    for (std::size_t clock = 0; clock < clocks_; ++clock) {
      if (slack(clock, clock) < 0) return false;
    }
    return true;
  }

 private:
  std::size_t clocks_;
  std::vector<std::int64_t> slack_;
  std::vector<Participation> seen_;
};

/// A shift that satisfies bounds, with its precision.
struct Choice {
  std::int64_t shift_ns = 0;
  std::int64_t precision_ns = 0;
};

/// Chooses shifts one after the other. Closed bounds leave a shift for every clock, whatever was chosen before within
/// them; clocks that may stay as they are come first.
std::vector<Choice> choose(Bounds& bounds, std::size_t clocks) {
  std::vector<Choice> choices(clocks);
  std::vector<std::size_t> chosen = {0};
  const auto range_of = [&](std::size_t clock) {
    std::pair<std::int64_t, std::int64_t> range = {-kUnbounded, kUnbounded};
    for (const std::size_t other : chosen) {
      const std::int64_t shift = choices[other].shift_ns;
      if (bounds.slack(clock, other) < kUnbounded)
        range.first = std::max(range.first, shift - bounds.slack(clock, other));
      if (bounds.slack(other, clock) < kUnbounded)
        range.second = std::min(range.second, shift + bounds.slack(other, clock));
    }
    return range;
  };
  std::vector<std::size_t> off;
  for (std::size_t clock = 1; clock < clocks; ++clock) {
    const auto [least, most] = range_of(clock);
    (least <= 0 && most >= 0 ? chosen : off).push_back(clock);
  }
  for (const std::size_t clock : off) {
    const auto [least, most] = range_of(clock);
    const bool bounded = least > -kUnbounded && most < kUnbounded;
    choices[clock].shift_ns = bounded ? least + (most - least) / 2 : least > 0 ? least : most;
    choices[clock].precision_ns = bounded ? (most - least + 1) / 2 : INT64_MAX;
    chosen.push_back(clock);
  }
  return choices;
}

std::string time_text(std::int64_t time_ns) {
  std::array<char, 64> text = {};
  std::snprintf(text.data(), text.size(), "%.3f ms", static_cast<double>(time_ns) / 1e6);
  return text.data();
}

void apply(Profile& profile, const Clock& clock, const Choice& choice, ClockAlignment& result) {
  for (const int index : clock.processes)
    profile.processes[static_cast<std::size_t>(index)].realtime_offset += choice.shift_ns;
  std::string text = "clock of host " + std::string(clock.host) + " is off: its times were shifted by " +
                     time_text(choice.shift_ns) +
                     ", because ranks would else have left collectives before the last had arrived";
  if (choice.precision_ns != INT64_MAX) text += "; the shift is known to " + time_text(choice.precision_ns);
  profile.warnings.push_back(std::move(text));
  result.shifts.push_back({std::string(clock.host), clock.processes, choice.shift_ns, choice.precision_ns});
}

}  // namespace

ClockAlignment align_clocks(Profile& profile) {
  ClockAlignment result;
  const std::vector<Clock> clocks = find_clocks(profile);
  share_offsets(profile, clocks);
  if (clocks.size() < 2 || clocks.size() > kMostClocks) return result;
  const std::vector<Participation> parts = participations(profile, clocks);
  std::vector<std::size_t> begins;  // of operations
  for (std::size_t index = 0; index < parts.size(); ++index) {
    if (index == 0 || parts[index].communicator != parts[index - 1].communicator ||
        parts[index].sequence != parts[index - 1].sequence)
      begins.push_back(index);
  }
  begins.push_back(parts.size());
  // Of very many operations some are enough.
  const std::size_t stride = 1 + begins.size() * clocks.size() * clocks.size() / kMostSteps;
  Bounds bounds(clocks.size());
  for (std::size_t operation = 0; operation + 1 < begins.size(); operation += stride)
    result.operations += bounds.add(&parts[begins[operation]], parts.data() + begins[operation + 1]);
  if (!bounds.close()) {
    result.contradictory = true;
    profile.warnings.emplace_back(
        "clocks of the hosts contradict each other: no constant shift explains all collectives; times of different "
        "hosts are compared as their clocks have them");
    return result;
  }
  const std::vector<Choice> choices = choose(bounds, clocks.size());
  for (std::size_t clock = 0; clock < clocks.size(); ++clock) {
    if (choices[clock].shift_ns != 0) apply(profile, clocks[clock], choices[clock], result);
  }
  return result;
}

}  // namespace tutti::profiling
