#pragma once

#include <string>
#include <vector>

#include "command_line.hpp"
#include "results/sweep_results.hpp"

namespace tutti::tools {

/// Reads the results of an earlier sweep and applies its settings to the command line, except those that are on it. Of
/// the rows, those that failed are dropped: their cells are measured again. Throws UsageError when the file cannot be
/// read, was changed by hand so that its numbers contradict each other, or has no settings.
[[nodiscard]] SweepResults resume_from(const std::string& path, CLI::App& command);

/// Throws UsageError with all differences that make the times of two sweeps incomparable: version, host, type, device,
/// time per cell, and the versions of backends that both have.
void require_same_conditions(const std::string& path, const SweepResults& earlier, const SweepResults& now);

/// Puts the rows of an earlier sweep into the results of one that has none yet, with its operations, sizes and
/// backends.
void continue_from(SweepResults& results, SweepResults earlier);

/// Throws UsageError that names the first row whose numbers contradict each other.
void require_consistent(const std::string& path, const SweepResults& results);

}  // namespace tutti::tools
