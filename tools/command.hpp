#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tutti::tools {

inline constexpr int kExitFailure = 1;        ///< any other error; the message names it
inline constexpr int kExitUsage = 2;          ///< invalid command line
inline constexpr int kExitTimeout = 124;      ///< `tutti run --timeout` ended the job, as timeout(1) would say
inline constexpr int kExitInterrupted = 130;  ///< Ctrl-C

/// Program words passed to a sub-command, and the exit code it returns.
struct Invocation {
  std::vector<std::string> program;  ///< words after "--", unparsed
  int exit_code = 0;
};

/// Each function adds one sub-command to the command line; parse() runs the sub-command that the user names.
/// `invocation` must outlive parse(). A running sub-command may throw UsageError, ProgramError or Error.
void add_run_command(CLI::App& tutti, Invocation& invocation);
void add_sweep_command(CLI::App& tutti, Invocation& invocation);
void add_report_command(CLI::App& tutti, Invocation& invocation);
void add_explain_command(CLI::App& tutti, Invocation& invocation);
void add_info_command(CLI::App& tutti, Invocation& invocation);
void add_topo_command(CLI::App& tutti, Invocation& invocation);
void add_preload_command(CLI::App& tutti, Invocation& invocation);
void add_prof_command(CLI::App& tutti, Invocation& invocation);
void add_tally_command(CLI::App& tutti, Invocation& invocation);
void add_tune_command(CLI::App& tutti, Invocation& invocation);
/// Internal: one rank of `tutti run` under a library's launcher.
void add_run_rank_command(CLI::App& tutti, Invocation& invocation);
void add_guard_command(CLI::App& tutti, Invocation& invocation);
void add_record_command(CLI::App& tutti, Invocation& invocation);
void add_replay_command(CLI::App& tutti, Invocation& invocation);
/// Internal: one rank of `tutti replay`.
void add_replay_rank_command(CLI::App& tutti, Invocation& invocation);
/// Internal: one rank of `tutti sweep`.
void add_sweep_rank_command(CLI::App& tutti, Invocation& invocation);

}  // namespace tutti::tools
