#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "sinks/timeline/layout.hpp"
#include "sinks/timeline/names.hpp"
#include "sinks/timeline/timeline.hpp"

namespace tutti::profiling {

namespace {

/// Nanoseconds by stack.
using Stacks = std::map<std::string, std::uint64_t>;

/// A name as a frame: ';' separates frames, and a line is a stack.
std::string frame(std::string_view name) {
  std::string text = valid_utf8(name.empty() ? "?" : name);
  std::replace(text.begin(), text.end(), ';', ':');
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

std::string root_of(const ProcessRow& row) {
  return row.rank >= 0 ? fmt::format("rank {}", row.rank) : frame(process_label(row));
}

/// Adds the slices of one process: what is nested in a slice is taken from its time.
void add_slices(const Profile& profile, int process, Stacks& stacks) {
  struct Open {
    std::uint64_t end_ns;
    std::string stack;
  };
  const std::string root = root_of(profile.processes[static_cast<std::size_t>(process)]);
  const std::span<const EventRow> events = events_of(profile, process);
  const Layout layout = lay_out(profile, process);
  std::vector<Open> open;
  std::map<std::uint32_t, std::vector<const Slice*>> asynchronous;  // by thread
  std::uint32_t track = kNone;
  for (const Slice& slice : layout.slices) {
    const Track& place = layout.tracks[slice.track];
    if (place.kind == Track::Kind::async_operations) asynchronous[place.thread].push_back(&slice);
    if (place.kind != Track::Kind::thread) continue;
    if (slice.track != track) open.clear();
    track = slice.track;
    while (!open.empty() && open.back().end_ns <= slice.begin_ns) open.pop_back();
    const std::string name =
        slice.event == kNone ? std::string(name_of(profile, slice.region)) : event_label(profile, events[slice.event]);
    const std::uint64_t duration = slice.end_ns - slice.begin_ns;
    if (!open.empty()) stacks[open.back().stack] -= duration;
    open.push_back({slice.end_ns, (open.empty() ? root : open.back().stack) + ';' + frame(name)});
    stacks[open.back().stack] += duration;
  }
  for (auto& [thread, slices] : asynchronous) {
    std::sort(slices.begin(), slices.end(),
              [](const Slice* left, const Slice* right) { return left->begin_ns < right->begin_ns; });
    std::uint64_t covered = 0;
    for (const Slice* slice : slices) {
      const std::uint64_t begin = std::max(slice->begin_ns, covered);
      if (slice->end_ns <= begin) continue;
      stacks[root + ";async operations;" + frame(event_label(profile, events[slice->event]))] += slice->end_ns - begin;
      covered = slice->end_ns;
    }
  }
}

/// Adds the tables of processes whose single calls were not recorded.
class TableStacks {
 public:
  TableStacks(const Profile& profile, const std::vector<bool>& wanted, Stacks& stacks)
      : profile_(profile), wanted_(wanted), stacks_(stacks) {}

  void add() {
    for (const TallyRow& row : profile_.rows) {
      const auto process = static_cast<std::size_t>(row.process);
      if (row.process < 0 || process >= wanted_.size() || !wanted_[process]) continue;
      if (row.kind != Kind::host && row.kind != Kind::operation) continue;
      Group& group = groups_[{row.process, row.thread, row.region, row.context}];
      (row.kind == Kind::operation ? group.operations : group.calls).push_back(&row);
    }
    for (const auto& [key, group] : groups_) add(std::get<0>(key), group);
  }

 private:
  /// Rows of one thread, region and context.
  struct Group {
    std::vector<const TallyRow*> operations, calls;
  };

  [[nodiscard]] int level_of(const TallyRow& row) const {
    const auto source = static_cast<std::size_t>(row.source);
    return row.source >= 0 && source < profile_.sources.size() ? profile_.sources[source].level : 0;
  }

  [[nodiscard]] std::vector<const TallyRow*> outermost(const std::vector<const TallyRow*>& rows) const {
    int highest = INT32_MIN;
    for (const TallyRow* row : rows) highest = std::max(highest, level_of(*row));
    std::vector<const TallyRow*> kept;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(kept),
                 [&](const TallyRow* row) { return level_of(*row) == highest; });
    return kept;
  }

  void add(int process, const Group& group) {
    const std::vector<const TallyRow*> calls = outermost(group.calls);
    const TallyRow& any = group.operations.empty() ? *calls.front() : *group.operations.front();
    std::string stack = root_of(profile_.processes[static_cast<std::size_t>(process)]);
    if (!any.region.empty()) stack += ';' + frame(any.region);
    std::uint64_t below = 0;
    for (const TallyRow* call : calls) below += call->statistics.total;
    // Operations of one context differ by their source at most: the outermost one contains the others.
    const std::vector<const TallyRow*> operations = outermost(group.operations);
    std::uint64_t total = 0;
    for (const TallyRow* operation : operations) total += operation->statistics.total;
    if (!operations.empty()) {
      stack += ';' + frame(label_of(*operations.front()));
      if (total > below) stacks_[stack] += total - below;
    }
    for (const TallyRow* call : calls) stacks_[stack + ';' + frame(call->name)] += call->statistics.total;
  }

  [[nodiscard]] std::string label_of(const TallyRow& row) const {
    const auto context = static_cast<std::size_t>(row.context);
    if (row.context < 0 || context >= profile_.contexts.size() || profile_.contexts[context].bytes == 0)
      return row.name;
    return row.name + ' ' + bytes_text(profile_.contexts[context].bytes);
  }

  const Profile& profile_;
  const std::vector<bool>& wanted_;
  Stacks& stacks_;
  std::map<std::tuple<int, std::uint32_t, std::string, int>, Group> groups_;
};

}  // namespace

void write_folded(const Profile& profile, const ByteSink& sink) {
  Stacks stacks;
  std::vector<bool> tables(profile.processes.size(), true);
  for (const EventRow& event : profile.events) {
    const auto process = static_cast<std::size_t>(event.process);
    if (event.kind == Kind::host && process < tables.size()) tables[process] = false;
  }
  for (std::size_t process = 0; process < tables.size(); ++process) {
    if (!tables[process]) add_slices(profile, static_cast<int>(process), stacks);
  }
  TableStacks(profile, tables, stacks).add();
  for (const auto& [stack, time_ns] : stacks) {
    if (const std::uint64_t time_us = (time_ns + 500) / 1000; time_us > 0) sink(fmt::format("{} {}\n", stack, time_us));
  }
}

}  // namespace tutti::profiling
