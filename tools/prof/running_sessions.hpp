#pragma once

#include <filesystem>
#include <string>

#include "prof/prof_options.hpp"

namespace tutti::tools {

/// Folder of a session that is being recorded: `word` is the folder, the pid of a `tutti prof` or of a process that it
/// started, or empty for the only one of this user on this host. Throws UsageError that lists the candidates.
[[nodiscard]] std::filesystem::path find_running_session(const std::string& word);

/// Carries out --control. Returns the exit code.
[[nodiscard]] int control_session(const ProfOptions& options);

}  // namespace tutti::tools
