#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "report/profile.hpp"
#include "support/system/subprocess.hpp"

namespace tutti::test {

/// Calls of one function by one rank.
struct CallCount {
  std::uint64_t calls = 0;
  std::uint64_t errors = 0;
  std::uint64_t bytes = 0;
  bool operator==(const CallCount&) const = default;
};
using CallCounts = std::map<std::string, CallCount>;

/// Host calls of BACKEND_MPI by function, per rank; a process without a rank counts as rank -1.
[[nodiscard]] std::map<int, CallCounts> recorded_calls(const profiling::Profile& profile);

/// The file that the second counter wrote; `with_idle`: tests that found nothing count as well.
[[nodiscard]] CallCounts counted_calls(const std::filesystem::path& file, bool with_idle);

/// The differences as text, a line each; empty if both are equal. Functions that the second counter does not know are
/// left out unless `all`.
[[nodiscard]] std::string differences(const CallCounts& recorded, const CallCounts& counted, bool all);

/// Faults in the operations of a profile, a line each: every communicator must be known to as many processes as it has
/// ranks, and these must agree on the name of each of its operations, by number.
[[nodiscard]] std::string faults_of_operations(const profiling::Profile& profile);

/// An MPI library with its launcher and test programs.
struct MpiKit {
  std::string name;  ///< "openmpi", "mpich", "intel"
  std::vector<std::string> launcher;
  std::string folder;  ///< of its test programs
  std::map<std::string, std::string> environment;
};
/// Its name, in the names of tests.
inline void PrintTo(const MpiKit& kit, std::ostream* out) { *out << kit.name; }
/// The kits of this build.
[[nodiscard]] std::vector<MpiKit> mpi_kits();

/// Value of LD_PRELOAD for the source and, after it, the second counter (may be empty).
[[nodiscard]] std::string mpi_preload(const MpiKit& kit, const std::string& counter);

/// Runs a command on ranks, with `environment` for the ranks only; killed after `limit`.
[[nodiscard]] CommandResult run_profiled(const MpiKit& kit, int ranks, const std::vector<std::string>& command,
                                         const std::map<std::string, std::string>& environment,
                                         std::chrono::seconds limit = std::chrono::seconds(100));

}  // namespace tutti::test
