#pragma once

#include <string>

#include "prof/output_options.hpp"
#include "report/profile.hpp"
#include "sinks/text_options.hpp"
#include "text/terminal.hpp"

namespace tutti::tools {

/// The output of a session as the options ask for it: events or tally, tables of operations, arrivals and memory, cost.
[[nodiscard]] std::string session_text(const profiling::Profile& profile, const OutputOptions& options,
                                       const Terminal& terminal);

/// Width and emphasis of tables for the terminal.
[[nodiscard]] profiling::TextOptions looks_of(const Terminal& terminal);

/// Warnings about the session as lines that begin with "tutti: ".
[[nodiscard]] std::string warning_lines(const profiling::Profile& profile);

/// Writes the files that the options name: timeline, folded stacks, CSV. Returns a line per file: written, or why not.
[[nodiscard]] std::string write_files(const profiling::Profile& profile, const OutputOptions& options);

/// The events as lines of text in the order of time.
[[nodiscard]] std::string events_text(const profiling::Profile& profile);

/// Facts about the processes of the session.
[[nodiscard]] std::string metadata_text(const profiling::Profile& profile, const Terminal& terminal);

}  // namespace tutti::tools
