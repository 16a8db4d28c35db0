#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tutti::test::campaign {

/// Variable that marks all processes of a job, whichever launcher started them.
inline constexpr const char* kJobVariable = "CAMPAIGN_JOB";

/// Living processes whose environment has CAMPAIGN_JOB=`job`.
[[nodiscard]] std::vector<pid_t> processes_of(const std::string& job);

/// "campaign --as-rank ...", or "(PID)" if the process is gone.
[[nodiscard]] std::string command_line_of(pid_t pid);

/// State letter of a process as in /proc/PID/stat; 0 if there is none.
[[nodiscard]] char state_of(pid_t pid);

/// State, place in the kernel and kernel stack of all threads of a process: the evidence of a hang.
[[nodiscard]] std::vector<std::string> describe_threads(pid_t pid);

/// Kills the processes of a job until there are none, and reaps those that became children of this process.
void kill_job(const std::string& job);

/// Kills and reaps all children of this process.
void kill_children();

}  // namespace tutti::test::campaign
