#include <algorithm>

#include "base/table.hpp"
#include "sinks/breakdown.hpp"
#include "sinks/wording.hpp"

namespace tutti::profiling {
namespace {

using base::Align;

std::string state_of(const ProcessRow& process) {
  std::string state = process.ended ? "" : "end not seen";
  if (!process.problem.empty()) state += (state.empty() ? "" : ": ") + name_cell(process.problem);
  return state;
}

}  // namespace

std::string cost_text(const Profile& profile, const TextOptions& text) {
  if (profile.processes.empty()) return {};
  constexpr std::size_t kMostRows = 8;
  ProcessRow all;
  double all_time = 0;
  double all_run = 0;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < profile.processes.size(); ++i) {
    const ProcessRow& process = profile.processes[i];
    order.push_back(i);
    all.records += process.records;
    all.dropped += process.dropped;
    all.dropped_events += process.dropped_events;
    all.file_bytes += process.file_bytes;
    all_time += process.recording_ns();
    all_run += process.run_ns();
  }
  const auto share = [&](std::size_t i) {
    const double run = profile.processes[i].run_ns();
    return run == 0 ? 0 : profile.processes[i].recording_ns() / run;
  };
  const bool shortened = order.size() > kMostRows;
  if (shortened) {
    // The ranks that lost records come first, then those that the session cost most.
    std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) {
      const ProcessRow& process = profile.processes[i];
      return std::pair(process.dropped > 0 || !state_of(process).empty(), share(i));
    });
    order.resize(kMostRows);
  }
  base::Table table({{"rank", Align::right},
                     {"records", Align::right},
                     {"per record", Align::right},
                     {"time", Align::right},
                     {"share of run", Align::right},
                     {"memory", Align::right},
                     {"dropped", Align::right},
                     {"not in timeline", Align::right},
                     {"incomplete"}});
  for (const std::size_t i : order) {
    const ProcessRow& process = profile.processes[i];
    table.add({rank_name(profile, static_cast<int>(i)), count_cell(process.records), time_cell(process.cost_ns),
               time_cell(process.recording_ns()), share_cell(process.recording_ns(), process.run_ns()),
               bytes_cell(process.file_bytes), count_cell(process.dropped), count_cell(process.dropped_events),
               state_of(process)});
  }
  if (profile.processes.size() > 1) {
    table.add({"all", count_cell(all.records), "", time_cell(all_time), share_cell(all_time, all_run),
               bytes_cell(all.file_bytes), count_cell(all.dropped), count_cell(all.dropped_events), ""});
  }
  const base::Style style(text.colour);
  std::string out = heading(style, "Cost of the session") + table.render_parts(style, text.width, 1) + "\n";
  std::string words =
      "time: records x the time of one, which each process measured; the run is the time from the "
      "process's first record to its last.";
  if (shortened) {
    words += " " + std::to_string(profile.processes.size() - kMostRows) + " more processes are in the last row only.";
  }
  if (all.dropped > 0) {
    words += " Dropped records found no room: the tables miss them; TUTTI_PROF_MEMORY gives a session more memory.";
  }
  if (all.dropped_events > 0) words += " Events that are not in the timeline are in the tables nevertheless.";
  return out + note(words, text.width) + "\n";
}

}  // namespace tutti::profiling
