#pragma once

#include <span>
#include <string>

namespace tutti::tools {

inline constexpr int kExitFailure = 1;        ///< something went wrong; the message says what
inline constexpr int kExitUsage = 2;          ///< the command line is wrong
inline constexpr int kExitTimeout = 124;      ///< `tutti run --timeout` ended the job, as timeout(1) would say
inline constexpr int kExitInterrupted = 130;  ///< Ctrl-C

using Arguments = std::span<const std::string>;

/// The sub-commands, one file each. They return the exit code and throw UsageError, ProgramError or Error.
int run_command(Arguments arguments);
int info_command(Arguments arguments);
int sweep_command(Arguments arguments);
/// Internal: one rank of `tutti run` under an MPI's launcher.
int run_rank_command(Arguments arguments);
/// Internal: one rank of `tutti sweep`.
int sweep_rank_command(Arguments arguments);

}  // namespace tutti::tools
