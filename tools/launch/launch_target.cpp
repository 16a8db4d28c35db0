#include "launch/launch_target.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "text/text.hpp"
#include "tutti/info.hpp"
#include "tutti/spi/environment.hpp"
#include "usage_error.hpp"

#ifndef TUTTI_INTEL_MPI_ROOT
#define TUTTI_INTEL_MPI_ROOT ""
#endif

namespace tutti::tools {
namespace {

struct Row {
  std::string_view name;
  LauncherKind kind;
  std::string_view backend;
  std::string_view product;
  std::string_view suffixed;  // name of the launcher in distributions that have several MPIs
  std::string_view variant;
};
constexpr std::array<Row, 6> kRows = {{
    {"native", LauncherKind::tutti, "native", "tutti", "", ""},
    {"ccl", LauncherKind::tutti, "ccl", "tutti", "", ""},
    {"nccl", LauncherKind::tutti, "nccl", "tutti", "", ""},
    {"mpi-openmpi", LauncherKind::openmpi, "mpi", "Open MPI", "mpirun.openmpi", "openmpi"},
    {"mpi-mpich", LauncherKind::mpich, "mpi", "MPICH", "mpirun.mpich", "mpich"},
    {"mpi-intel", LauncherKind::intel, "mpi", "Intel MPI", "", "mpich"},
}};

constexpr auto kNames = [] {
  std::array<std::string_view, kRows.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kRows[i].name;
  return names;
}();

// The row of a target. The target "mpi" of a machine without any MPI has no row of its own: it gets that of its kind.
const Row& row_of(const LaunchTarget& target) {
  const auto named = std::ranges::find(kRows, target.name, &Row::name);
  return named != kRows.end() ? *named : *std::ranges::find(kRows, target.kind, &Row::kind);
}

std::optional<std::string> try_find(const std::string& name) {
  try {
    return find_program(name);
  } catch (const ProgramError&) {
    return std::nullopt;
  }
}

// Stores path and version of the launcher if it is of the target's kind.
bool accept(LaunchTarget& target, const std::string& path) {
  ProcessEnvironment environment;
  prepare_environment(target, environment);
  const std::array<std::string, 1> arguments = {"--version"};
  const std::string output = output_of(path, arguments, environment, 5);
  if (identify_launcher(output) != target.kind) return false;
  target.launcher = path;
  target.version = extract_version(output);
  return true;
}

// For targets whose ranks tutti starts: usable if the backend finds its library.
void look_for_library(LaunchTarget& target) {
  const std::vector<BackendInfo> all = backends();
  const auto found = std::ranges::find(all, target.backend(), &BackendInfo::name);
  target.usable = found != all.end() && found->usable;
  if (found != all.end()) target.version = found->version;
  if (found == all.end()) {
    target.reason = concat("tutti was built without the ", target.backend(), " module");
  } else if (!found->usable) {
    target.reason = found->reason;
  }
}

void look_for(LaunchTarget& target) {
  const Row& row = row_of(target);
  if (row.backend == "native") {
    target.version = version();
    return;
  }
  if (target.kind == LauncherKind::tutti) return look_for_library(target);
  std::vector<std::string> candidates;
  if (target.kind == LauncherKind::intel && !intel_mpi_root().empty()) {
    target.root = intel_mpi_root();
    // Intel MPI's mpirun is a shell script around mpiexec.hydra; signals would not get past the shell.
    candidates.push_back(target.root + "/bin/mpiexec.hydra");
  }
  if (!row.suffixed.empty()) candidates.emplace_back(row.suffixed);
  if (target.kind == LauncherKind::intel) candidates.emplace_back("mpiexec.hydra");
  candidates.emplace_back("mpirun");
  for (const std::string& candidate : candidates) {
    const std::optional<std::string> path = try_find(candidate);
    if (path && accept(target, *path)) return;
    target.root.clear();  // applies only to the launcher in that folder
  }
  target.usable = false;
  target.reason = concat(
      "no launcher of ", row.product, " found (looked for ", join(candidates, ", "), "); ",
      target.kind == LauncherKind::intel ? "set TUTTI_INTEL_MPI_ROOT to its folder" : "install it or add it to PATH");
}

LaunchTarget make_target(std::size_t index) {
  LaunchTarget target;
  target.kind = kRows[index].kind;
  target.name = kNames[index];
  look_for(target);
  return target;
}

}  // namespace

std::string default_intel_mpi_root() { return TUTTI_INTEL_MPI_ROOT; }

std::string intel_mpi_root() {
  const std::string chosen = spi::environment("TUTTI_INTEL_MPI_ROOT").value_or("");
  return chosen.empty() ? default_intel_mpi_root() : chosen;
}

std::string_view LaunchTarget::backend() const noexcept { return row_of(*this).backend; }

std::string_view LaunchTarget::module_variant() const noexcept { return row_of(*this).variant; }

std::span<const std::string_view> launch_target_names() noexcept { return kNames; }

LaunchTarget find_launch_target(std::string_view name) {
  if (name == "mpi") {
    for (std::size_t i = 0; i < kRows.size(); ++i) {
      if (kRows[i].backend != "mpi") continue;
      LaunchTarget target = make_target(i);
      if (target.usable) return target;
    }
    LaunchTarget none;
    none.kind = LauncherKind::openmpi;
    none.name = "mpi";
    none.usable = false;
    none.reason = "no launcher of Open MPI, MPICH or Intel MPI found; install one or add it to PATH";
    return none;
  }
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) {
    const std::vector<std::string> names(kNames.begin(), kNames.end());
    throw UsageError(concat("unknown backend \"", name, "\"; accepted: ", join(names, ", "), ", mpi"));
  }
  return make_target(static_cast<std::size_t>(found - kNames.begin()));
}

std::vector<LaunchTarget> launch_targets() {
  std::vector<LaunchTarget> targets;
  for (std::size_t i = 0; i < kNames.size(); ++i) targets.push_back(make_target(i));
  return targets;
}

LauncherKind identify_launcher(std::string_view version_output) noexcept {
  const auto says = [&](std::string_view words) { return version_output.find(words) != std::string_view::npos; };
  if (says("Intel(R) MPI Library")) return LauncherKind::intel;
  if (says("Open MPI") || says("OpenRTE") || says("PRRTE")) return LauncherKind::openmpi;
  if (says("HYDRA build details")) return LauncherKind::mpich;
  return LauncherKind::tutti;
}

std::string extract_version(std::string_view version_output) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t begin = 0; begin < version_output.size(); ++begin) {
    if (!is_digit(version_output[begin])) continue;
    std::size_t end = begin;
    while (end < version_output.size() && (is_digit(version_output[end]) || version_output[end] == '.')) ++end;
    const std::string_view number = version_output.substr(begin, end - begin);
    if (number.find('.') != std::string_view::npos && number.back() != '.') return std::string(number);
    begin = end;
  }
  return {};
}

LaunchHost this_host() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  return {.cores = known ? std::max(CPU_COUNT(&allowed), 1) : 1, .is_root = geteuid() == 0};
}

std::vector<std::string> launcher_command(const LaunchTarget& target, int ranks, const LaunchHost& host) {
  const std::string number = std::to_string(ranks);
  switch (target.kind) {
    case LauncherKind::tutti:
      return {};
    case LauncherKind::mpich:
      return {target.launcher, "-n", number, "-launcher", "fork"};
    case LauncherKind::intel:
      // With more ranks than cores, Intel MPI's shared-memory collectives gave wrong data: see backends/mpi/README.md.
      if (ranks > host.cores) {
        return {target.launcher, "-n", number, "-bootstrap", "fork", "-genv", "I_MPI_COLL_INTRANODE", "pt2pt"};
      }
      return {target.launcher, "-n", number, "-bootstrap", "fork"};
    case LauncherKind::openmpi:
      break;
  }
  std::vector<std::string> command = {target.launcher, "-n", number, "--bind-to", "none"};
  // Open MPI 5 has this option under --map-by and warns about --oversubscribe.
  const bool modern = !target.version.empty() && std::atoi(target.version.c_str()) >= 5;
  if (modern) {
    command.insert(command.end(), {"--map-by", ":OVERSUBSCRIBE"});
  } else {
    command.emplace_back("--oversubscribe");
  }
  if (host.is_root) command.emplace_back("--allow-run-as-root");
  // Without yielding, a rank that spins while its peer waits for the core costs a time slice per message.
  if (ranks > host.cores) command.insert(command.end(), {"--mca", "mpi_yield_when_idle", "1"});
  return command;
}

void prepare_environment(const LaunchTarget& target, ProcessEnvironment& environment) {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
                           "TUTTI_STORE", "TUTTI_JOB_SECRET", "TUTTI_JOB_SECRET_FILE"}) {
    environment.unset(name);
  }
  // A job inside a job: the inner ranks must not take over the places of the outer ranks.
  for (const char* prefix : {"OMPI_COMM_WORLD_", "OMPI_MCA_ess", "OMPI_MCA_orte_", "PMIX_", "PMI_", "MPI_LOCAL"}) {
    environment.unset_prefix(prefix);
  }
  if (target.kind != LauncherKind::intel) return;
  // One host and no pinning, so that the ranks use the cores as with the other backends.
  environment.set("I_MPI_PIN", "0");
  environment.set("I_MPI_FABRICS", "shm");
  if (target.root.empty()) return;
  environment.set("I_MPI_ROOT", target.root);
  environment.set("FI_PROVIDER_PATH", target.root + "/lib");
  environment.prepend_path("PATH", target.root + "/bin");
  environment.prepend_path("LD_LIBRARY_PATH", target.root + "/lib");
}

}  // namespace tutti::tools
