#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/session_reader.hpp"
#include "support/rank_threads.hpp"
#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::profiling {

inline constexpr std::chrono::seconds kSessionDeadline{60 * test::kDeadlineFactor};

/// Runs session_program in a session in this folder.
inline test::CommandResult run_recorded(const test::TemporaryFolder& folder, std::vector<std::string> arguments,
                                        std::map<std::string, std::string> environment = {}) {
  arguments.insert(arguments.begin(), TUTTI_TEST_SESSION_PROGRAM);
  environment.try_emplace("TUTTI_PROF_SESSION", folder.path().string());
  return test::run_command(arguments, environment, kSessionDeadline);
}

/// Calls by name.
inline std::map<std::string, std::uint64_t> calls_by_name(const Profile& profile, int process = -1) {
  std::map<std::string, std::uint64_t> calls;
  for (const TallyRow& row : profile.rows) {
    if (process < 0 || row.process == process) calls[row.name] += row.statistics.calls;
  }
  return calls;
}

}  // namespace tutti::profiling
