#include "launch/mpi_launch.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>

#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"

namespace tutti::mpi {
namespace {

namespace fs = std::filesystem;

// Scripts may stand between the launcher and the application, so the launcher may be some levels up.
constexpr int kAncestorLevels = 8;

// Names of sockets have 107 characters.
constexpr std::size_t kLongestJob = 40;

constexpr std::array<std::string_view, 11> kLaunchers = {"mpirun",        "mpiexec",         "orterun",
                                                         "orted",         "prterun",         "prte",
                                                         "prted",         "hydra_pmi_proxy", "hydra_bstrap_proxy",
                                                         "mpiexec.hydra", "mpiexec.gforker"};

std::optional<int> number(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  int value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, failure] = std::from_chars(text->data(), end, value);
  if (failure != std::errc{} || stop != end || value < 0) return std::nullopt;
  return value;
}

std::optional<Launch> launch_from(const EnvironmentLookup& environment, const char* rank_name, const char* size_name) {
  const std::optional<int> rank = number(environment(rank_name));
  const std::optional<int> size = number(environment(size_name));
  if (!rank || !size || *rank >= *size) return std::nullopt;
  return Launch{*rank, *size};
}

/// Fields of /proc/PID/stat, counted as in its manual page.
constexpr int kParentField = 4;
constexpr int kStartTimeField = 22;

/// A field of /proc/PID/stat behind the name of the process; empty if unknown. The name may contain spaces and
/// parentheses, so fields are counted from the last parenthesis.
std::string stat_field(int pid, int number) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return {};
  const std::size_t bracket = text.rfind(')');
  if (bracket == std::string::npos) return {};
  std::istringstream fields(text.substr(bracket + 1));
  std::string field;
  for (int i = 3; i <= number; ++i) fields >> field;
  return fields ? field : std::string();
}

/// The parent of a process, or 0 if unknown.
int parent_of(int pid) { return number(stat_field(pid, kParentField)).value_or(0); }

/// The variables with which launchers tell a process its rank.
constexpr std::array<const char*, 3> kRankVariables = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};

/// Whether the process was started with the rank of this one: a script between the launcher and the application.
bool has_same_rank(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  for (std::string entry; std::getline(file, entry, '\0');) {
    for (const char* name : kRankVariables) {
      if (const auto value = spi::environment(name); value && entry == std::string(name) + "=" + *value) return true;
    }
  }
  return false;
}

void add_existing(std::vector<std::string>& found, const fs::path& prefix, const std::vector<std::string>& names) {
  for (const char* folder : {"lib", "lib64", "lib/release", "lib/" TUTTI_LIBRARY_ARCHITECTURE}) {
    for (const std::string& name : names) {
      std::error_code ignored;
      const fs::path file = prefix / folder / name;
      if (fs::exists(file, ignored)) found.push_back(file.lexically_normal().string());
    }
  }
}

}  // namespace

std::vector<std::string> library_names(Abi abi) {
  if (abi == Abi::openmpi) return {"libmpi.so.40"};
  return {"libmpi.so.12", "libmpich.so.12"};
}

std::optional<Launch> find_launch(Abi abi, const EnvironmentLookup& environment, bool library_given) {
  // Open MPI's variables first: its launcher may also set those of PMIx and, under a batch system, inherit those of
  // PMI.
  if (const auto open_mpi = launch_from(environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")) {
    return abi == Abi::openmpi ? open_mpi : std::nullopt;
  }
  if (const auto pmi = launch_from(environment, "PMI_RANK", "PMI_SIZE")) {
    return abi == Abi::mpich ? pmi : std::nullopt;
  }
  const std::optional<int> pmix = number(environment("PMIX_RANK"));
  if (!pmix || (abi == Abi::mpich && !library_given)) return std::nullopt;
  const std::optional<int> tasks = number(environment("SLURM_NTASKS"));
  return Launch{*pmix, tasks && *tasks > *pmix ? *tasks : 0};
}

void refuse_singleton(const std::optional<Launch>& launch, const std::string& version) {
  if (!launch || launch->size <= 1) return;
  throw Error(ErrorCode::backend_unavailable,
              "the launcher made this process rank " + std::to_string(launch->rank) + " of " +
                  std::to_string(launch->size) + ", but MPI_COMM_WORLD of " + version +
                  " has one rank: the launcher belongs to another MPI; use the mpirun of this library, or set "
                  "TUTTI_MPI_LIBRARY to the library of the launcher",
              "mpi");
}

std::vector<fs::path> ancestor_executables() {
  std::vector<fs::path> executables;
  if (spi::ignores_environment()) return executables;  // the caller chose the launcher
  int pid = getppid();
  for (int level = 0; level < kAncestorLevels && pid > 1; ++level, pid = parent_of(pid)) {
    std::error_code failure;
    const fs::path executable = fs::read_symlink("/proc/" + std::to_string(pid) + "/exe", failure);
    if (!failure) executables.push_back(executable);
  }
  return executables;
}

std::string launcher_key() {
  if (spi::ignores_environment()) return {};  // the caller chose the launcher
  int pid = getppid();
  while (pid > 1 && has_same_rank(pid)) pid = parent_of(pid);
  // A job's own id where there is one: the launcher may be the first process of a container, or may have gone.
  std::string job;
  for (const char* name : {"PMIX_NAMESPACE", "I_MPI_HYDRA_UUID"}) job += spi::environment(name).value_or("");
  if (pid <= 1 && job.empty()) return {};
  std::ranges::replace_if(
      job, [](char letter) { return letter == '/' || letter == '\0'; }, '_');
  return std::to_string(geteuid()) + "-" + std::to_string(pid) + "." + stat_field(pid, kStartTimeField) +
         (job.empty() ? "" : "-") + job.substr(0, kLongestJob);
}

std::vector<std::string> library_candidates(Abi abi, const EnvironmentLookup& environment,
                                            const std::vector<fs::path>& ancestors) {
  const std::vector<std::string> names = library_names(abi);
  std::vector<std::string> candidates;
  for (const fs::path& executable : ancestors) {
    const std::string file = executable.filename().string();
    const bool is_launcher = std::any_of(kLaunchers.begin(), kLaunchers.end(), [&](std::string_view launcher) {
      return file == launcher || file.starts_with(std::string(launcher) + ".");
    });
    if (is_launcher) add_existing(candidates, executable.parent_path().parent_path(), names);
  }
  if (abi == Abi::mpich) {
    if (const auto root = environment("I_MPI_ROOT"); root && !root->empty()) add_existing(candidates, *root, names);
  }
  candidates.insert(candidates.end(), names.begin(), names.end());
  std::vector<std::string> unique;
  for (const std::string& candidate : candidates) {
    if (std::find(unique.begin(), unique.end(), candidate) == unique.end()) unique.push_back(candidate);
  }
  return unique;
}

}  // namespace tutti::mpi
