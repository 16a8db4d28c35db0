#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "faults/campaign/job/sandbox.hpp"
#include "faults/campaign/run_plan.hpp"

namespace tutti::test::campaign {

using Environment = std::map<std::string, std::string>;

/// A process to start; an empty value removes the variable.
struct Command {
  std::vector<std::string> arguments;
  Environment environment;
};

/// Variables that all ranks of a job share.
[[nodiscard]] Environment common_environment(const RunPlan& plan, const std::string& job);

/// Command line of a rank.
[[nodiscard]] std::vector<std::string> rank_command(const RunPlan& plan, const std::string& folder);

/// Whether the ranks are started by the launcher of their library.
[[nodiscard]] bool needs_launcher(const std::string& backend);

/// The launcher's command line around the ranks'. Empty arguments if there is no such launcher.
[[nodiscard]] Command launcher_command(const RunPlan& plan, const std::string& folder, const std::string& job);

/// Starts a process in the sandbox, in a group of its own; its output is appended to the file. Returns -1 on failure.
[[nodiscard]] pid_t start_process(const Command& command, const Sandbox& sandbox, const std::string& output);

}  // namespace tutti::test::campaign
