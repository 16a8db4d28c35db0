#pragma once

#include <string>
#include <vector>

#include "faults/campaign/job/stall_clock.hpp"
#include "faults/campaign/ranks/rank_report.hpp"
#include "faults/campaign/run_plan.hpp"

namespace tutti::test::campaign {

/// Everything that is known about a job after its end.
struct JobResult {
  std::vector<RankTrace> traces;  ///< one per rank
  std::vector<int> wait_status;   ///< of each rank that the campaign started itself; -1: unknown
  bool has_launcher = false;
  int launcher_status = 0;            ///< wait status of the launcher
  bool timed_out = false;             ///< the deadline passed, and the campaign killed the job
  std::vector<std::string> evidence;  ///< threads of the processes that were alive at the deadline
  std::vector<std::string> left_processes;
  std::vector<std::string> left_files;
  std::string output;  ///< end of the output of all processes
  double seconds = 0;
  std::string skipped;  ///< why the job could not be run; empty: it was run
};

/// Runs the job of a plan to its end, or kills it at the deadline; leaves no process.
[[nodiscard]] JobResult run_job(const RunPlan& plan, const StallClock& stalls);

/// Why the backend cannot be used on this machine, found by a job without a fault; empty: it can.
[[nodiscard]] std::string objection_to(const std::string& backend, const StallClock& stalls);

/// Ends the job that runs now, from another thread: kills its processes and removes its folder. The process must end
/// afterwards.
void discard_current_job();

}  // namespace tutti::test::campaign
