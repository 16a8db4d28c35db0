#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tutti::tools {

inline constexpr int kExitFailure = 1;        ///< something went wrong; the message says what
inline constexpr int kExitUsage = 2;          ///< the command line is wrong
inline constexpr int kExitTimeout = 124;      ///< `tutti run --timeout` ended the job, as timeout(1) would say
inline constexpr int kExitInterrupted = 130;  ///< Ctrl-C

/// What a sub-command is given besides its options, and what it gives back.
struct Invocation {
  std::vector<std::string> program;  ///< what follows "--", untouched
  int exit_code = 0;
};

/// The sub-commands, one file each: they add themselves to the command line and are run by its parser when called.
/// `invocation` must live until then. Running one may throw UsageError, ProgramError or Error.
void add_run_command(CLI::App& tutti, Invocation& invocation);
void add_sweep_command(CLI::App& tutti, Invocation& invocation);
void add_info_command(CLI::App& tutti, Invocation& invocation);
void add_topo_command(CLI::App& tutti, Invocation& invocation);
/// Internal: one rank of `tutti run` under an MPI's launcher.
void add_run_rank_command(CLI::App& tutti, Invocation& invocation);
/// Internal: one rank of `tutti sweep`.
void add_sweep_rank_command(CLI::App& tutti, Invocation& invocation);

}  // namespace tutti::tools
