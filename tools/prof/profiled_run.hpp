#pragma once

#include <functional>
#include <string>
#include <vector>

#include "prof/prof_options.hpp"
#include "report/profile.hpp"
#include "text/terminal.hpp"

namespace tutti::tools {

/// Runs a command in a profiling session and writes the session's output when the command has ended: once for the job,
/// if a launcher started this process. Returns the exit code of the command as a shell would see it; trouble with the
/// session does not change it. Throws ProgramError when the command cannot be executed, UsageError for sources that
/// cannot be used.
[[nodiscard]] int run_profiled(const ProfOptions& options, std::vector<std::string> words);

/// Reads a session and applies the options that choose parts of it. Throws std::runtime_error.
[[nodiscard]] profiling::Profile read_chosen(const std::string& folder, const OutputOptions& output,
                                             const std::vector<ChosenSource>& sources);

/// Writes the text that `make` returns for a terminal to the file of --analysis-output, else to the descriptor; a file
/// that cannot be written is named on standard error, which then gets the text.
void write_analysis(const std::function<std::string(const Terminal&)>& make, const OutputOptions& output,
                    int descriptor);
/// The same for the whole output of a session.
void write_session(const profiling::Profile& profile, const OutputOptions& output, int descriptor);

}  // namespace tutti::tools
