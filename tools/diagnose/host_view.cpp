#include "diagnose/host_view.hpp"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>
#include <tuple>

#include "text/text.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

std::string proc(std::int64_t pid, const char* file) { return concat("/proc/", pid, "/", file); }

/// The program and its arguments, fit for a terminal.
std::string command_of(std::int64_t pid) {
  std::ifstream file(proc(pid, "cmdline"), std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  constexpr std::size_t kLongest = 60;
  while (text.ends_with('\0')) text.pop_back();
  for (char& letter : text) {
    if (letter == '\0') letter = ' ';
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F) letter = '?';
  }
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Tells the entries of a process apart while a communicator lives.
using Key = std::tuple<std::int64_t, std::uint64_t, int, std::string>;

Key key_of(std::int64_t pid, const CommunicatorProgress& progress) {
  return {pid, progress.communicator, progress.rank, progress.name};
}

std::vector<RankRow> rows_of(const std::vector<ProcessProgress>& processes) {
  std::vector<RankRow> rows;
  for (const ProcessProgress& process : processes) {
    const ProcessState state = process_state(process.pid);
    for (const CommunicatorProgress& progress : process.communicators) {
      rows.push_back({.pid = process.pid, .progress = progress, .process = state});
    }
  }
  return rows;
}

void add_notes(const std::vector<ProcessProgress>& processes, HostView& view) {
  for (const ProcessProgress& process : processes) {
    if (!process.problem.empty()) view.notes.push_back(concat("process ", process.pid, ": ", process.problem));
    if (process.communicators_without > 0) {
      view.notes.push_back(concat("process ", process.pid, ": ", process.communicators_without,
                                  " more communicators are not shown, because it has too many"));
    }
  }
}

/// Children of the same launcher that have ended.
std::vector<std::int64_t> zombies_beside(const std::vector<RankRow>& rows) {
  std::set<std::int64_t> parents;
  for (const RankRow& row : rows) parents.insert(row.process.parent);
  std::vector<std::int64_t> zombies;
  for (const std::int64_t parent : parents) {
    if (parent <= 1) continue;
    std::ifstream list(concat("/proc/", parent, "/task/", parent, "/children"));
    for (std::int64_t pid = 0; list >> pid;) {
      if (process_state(pid).state == 'Z') zombies.push_back(pid);
    }
  }
  return zombies;
}

}  // namespace

ProcessState process_state(std::int64_t pid) {
  ProcessState state;
  std::ifstream stat(proc(pid, "stat"));
  std::string line;
  std::getline(stat, line);
  // The name in parentheses may have any character; the letter follows the last parenthesis.
  const std::size_t end = line.rfind(')');
  if (end == std::string::npos || end + 2 >= line.size()) return state;
  std::istringstream(line.substr(end + 2)) >> state.state >> state.parent;
  std::ifstream statm(proc(pid, "statm"));
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  if (statm >> size >> resident) state.resident_bytes = resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  state.command = command_of(pid);
  state.device_usage = device_usage_of(pid);
  return state;
}

HostView look_at_host(std::chrono::milliseconds pause) {
  std::map<Key, std::uint64_t> before;
  for (const ProcessProgress& process : read_progress()) {
    for (const CommunicatorProgress& one : process.communicators) before[key_of(process.pid, one)] = one.activity();
  }
  std::this_thread::sleep_for(pause);
  const std::vector<ProcessProgress> processes = read_progress();
  HostView view;
  view.now_ns = monotonic_ns();
  add_notes(processes, view);
  std::map<std::string, JobView> jobs;
  for (RankRow& row : rows_of(processes)) {
    const auto known = before.find(key_of(row.pid, row.progress));
    row.has_moved = known == before.end() || known->second != row.progress.activity();
    jobs[row.progress.job].rows.push_back(std::move(row));
  }
  for (auto& [id, job] : jobs) {
    job.id = id;
    job.zombies = zombies_beside(job.rows);
    // By communicator in the order in which the first rank made them, which the board keeps.
    std::map<std::uint64_t, std::size_t> order;
    for (const RankRow& row : job.rows) order.try_emplace(row.progress.communicator, order.size());
    std::ranges::stable_sort(job.rows, {}, [&](const RankRow& row) {
      return std::tuple(order[row.progress.communicator], row.progress.rank);
    });
    job.command = job.rows.front().process.command;
    view.jobs.push_back(std::move(job));
  }
  return view;
}

void keep_job(HostView& view, const std::string& word) {
  const auto is_named = [&](const JobView& job) {
    if (!job.id.empty() && job.id.starts_with(word)) return true;
    return std::ranges::any_of(job.rows, [&](const RankRow& row) {
      return std::to_string(row.pid) == word || (row.process.parent > 1 && std::to_string(row.process.parent) == word);
    });
  };
  std::vector<std::string> known;
  for (const JobView& job : view.jobs) known.push_back(job.id.empty() ? "(ranks that meet)" : job.id);
  std::erase_if(view.jobs, [&](const JobView& job) { return !is_named(job); });
  if (view.jobs.size() == 1) return;
  throw UsageError(concat(view.jobs.empty() ? "there is no job '" : "there are several jobs '", word,
                          "' of this user on this host; jobs: ", known.empty() ? "none" : join(known, ", ")));
}

std::string age_text(const ProgressSnapshot& progress, std::int64_t now_ns) {
  if (progress.since_ns <= 0 || progress.since_ns > now_ns) return {};
  return format_time_us(static_cast<double>(now_ns - progress.since_ns) * 1e-3);
}

}  // namespace tutti::tools
