#include "launch/mpi_launchers.hpp"

#include <cstdlib>

namespace tutti::mpi {
namespace {

// Distributions with several MPIs add the name of the MPI to its mpirun.
constexpr std::array<std::string_view, 2> kOpenMpiPrograms = {"mpirun.openmpi", "mpirun"};
constexpr std::array<std::string_view, 2> kMpichPrograms = {"mpirun.mpich", "mpirun"};
// Intel MPI's mpirun is a shell script around mpiexec.hydra; signals would not get past the shell.
constexpr std::array<std::string_view, 2> kIntelPrograms = {"mpiexec.hydra", "mpirun"};

constexpr std::array<std::string_view, 4> kOpenMpiPrefixes = {"OMPI_COMM_WORLD_", "OMPI_MCA_ess", "OMPI_MCA_orte_",
                                                              "PMIX_"};
constexpr std::array<std::string_view, 2> kHydraPrefixes = {"PMI_", "MPI_LOCAL"};

bool contains(std::string_view text, std::string_view words) { return text.find(words) != std::string_view::npos; }

bool is_open_mpi(std::string_view version_output) {
  return contains(version_output, "Open MPI") || contains(version_output, "OpenRTE") ||
         contains(version_output, "PRRTE");
}

bool is_intel_mpi(std::string_view version_output) { return contains(version_output, "Intel(R) MPI Library"); }

// Intel MPI's launcher is a Hydra, too.
bool is_mpich(std::string_view version_output) {
  return contains(version_output, "HYDRA build details") && !is_intel_mpi(version_output);
}

std::vector<std::string> open_mpi_command(const spi::LaunchRequest& request) {
  std::vector<std::string> command = {request.program, "-n", std::to_string(request.ranks), "--bind-to", "none"};
  // Open MPI 5 has this option under --map-by and warns about --oversubscribe.
  if (std::atoi(request.version.c_str()) >= 5) {
    command.insert(command.end(), {"--map-by", ":OVERSUBSCRIBE"});
  } else {
    command.emplace_back("--oversubscribe");
  }
  if (request.is_root) command.emplace_back("--allow-run-as-root");
  // Without yielding, a rank that spins while its peer waits for the core costs a time slice per message.
  if (request.ranks > request.cores) command.insert(command.end(), {"--mca", "mpi_yield_when_idle", "1"});
  return command;
}

std::vector<std::string> mpich_command(const spi::LaunchRequest& request) {
  return {request.program, "-n", std::to_string(request.ranks), "-launcher", "fork"};
}

std::vector<std::string> intel_mpi_command(const spi::LaunchRequest& request) {
  std::vector<std::string> command = {request.program, "-n", std::to_string(request.ranks), "-bootstrap", "fork"};
  // With more ranks than cores, Intel MPI's shared-memory collectives gave wrong data: see backends/mpi/README.md.
  if (request.ranks > request.cores) command.insert(command.end(), {"-genv", "I_MPI_COLL_INTRANODE", "pt2pt"});
  return command;
}

std::vector<spi::LaunchVariable> intel_mpi_variables(const spi::LaunchRequest& request) {
  // One host and no pinning, so that the ranks use the cores as with the other backends.
  std::vector<spi::LaunchVariable> variables = {{"I_MPI_PIN", "0"}, {"I_MPI_FABRICS", "shm"}};
  if (request.root.empty()) return variables;
  variables.push_back({"I_MPI_ROOT", request.root});
  variables.push_back({"FI_PROVIDER_PATH", request.root + "/lib"});
  variables.push_back({.name = "PATH", .value = request.root + "/bin", .prepends = true});
  variables.push_back({.name = "LD_LIBRARY_PATH", .value = request.root + "/lib", .prepends = true});
  return variables;
}

}  // namespace

constexpr std::array<spi::Launcher, 1> kOpenMpiLaunchers = {{{.product = "openmpi",
                                                              .title = "Open MPI",
                                                              .programs = kOpenMpiPrograms,
                                                              .rank_variable = "OMPI_COMM_WORLD_RANK",
                                                              .job_prefixes = kOpenMpiPrefixes,
                                                              .identifies = is_open_mpi,
                                                              .command = open_mpi_command}}};

constexpr std::array<spi::Launcher, 2> kMpichLaunchers = {{{.product = "mpich",
                                                            .title = "MPICH",
                                                            .programs = kMpichPrograms,
                                                            .rank_variable = "PMI_RANK",
                                                            .job_prefixes = kHydraPrefixes,
                                                            .identifies = is_mpich,
                                                            .command = mpich_command},
                                                           {.product = "intel",
                                                            .title = "Intel MPI",
                                                            .programs = kIntelPrograms,
                                                            .rank_variable = "PMI_RANK",
                                                            .job_prefixes = kHydraPrefixes,
                                                            .root_variable = "TUTTI_INTEL_MPI_ROOT",
                                                            .root_default = TUTTI_INTEL_MPI_ROOT,
                                                            .root_program = "bin/mpiexec.hydra",
                                                            .identifies = is_intel_mpi,
                                                            .command = intel_mpi_command,
                                                            .variables = intel_mpi_variables}}};

}  // namespace tutti::mpi
