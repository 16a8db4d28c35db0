#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "diagnose/device_usage.hpp"
#include "tutti/info/progress.hpp"

/// The jobs of this host, as `tutti ps` shows them and `tutti doctor` judges them.
namespace tutti::tools {

/// A process as the kernel sees it.
struct ProcessState {
  char state = '?';  ///< letter of /proc/PID/stat: R, S, D, T, Z, ...; '?': it is gone
  std::int64_t parent = 0;
  std::uint64_t resident_bytes = 0;
  std::string command;
  std::vector<DeviceUsage> device_usage = {};
};

[[nodiscard]] ProcessState process_state(std::int64_t pid);

/// A rank of a communicator.
struct RankRow {
  std::int64_t pid = 0;
  CommunicatorProgress progress;
  ProcessState process = {};
  bool has_moved = false;  ///< a call was entered or left while the host was looked at
};

struct JobView {
  std::string id;  ///< empty: ranks that are still meeting
  std::string command;
  std::vector<RankRow> rows;  ///< by communicator, then by rank
  /// Processes that have ended beside the ranks and that nobody has waited for: children of the same launcher.
  std::vector<std::int64_t> zombies;
};

struct HostView {
  std::vector<JobView> jobs;
  std::vector<std::string> notes;  ///< processes whose state cannot be read, communicators without room
  std::int64_t now_ns = 0;         ///< CLOCK_MONOTONIC
};

/// Looks twice, `pause` apart, so that ranks that wait can be told from ranks that make progress.
[[nodiscard]] HostView look_at_host(std::chrono::milliseconds pause);

/// Keeps the job that `word` names: its id or the first characters of it, or the pid of one of its ranks or of their
/// launcher. Throws UsageError if there is none, or several.
void keep_job(HostView& view, const std::string& word);

/// "12.3 s"; empty if it is not known since when the state lasts.
[[nodiscard]] std::string age_text(const ProgressSnapshot& progress, std::int64_t now_ns);

}  // namespace tutti::tools
