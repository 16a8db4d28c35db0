#include "faults/campaign/job/start.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "faults/campaign/job/processes.hpp"

extern char** environ;

namespace tutti::test::campaign {
namespace {

std::string program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

/// This process's environment with changes, as execve() takes it.
std::vector<std::string> merged(const Environment& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::string name = text.substr(0, text.find('='));
    // Settings of the campaign's own environment would make runs depend on it.
    const bool is_foreign = name.starts_with("TUTTI_") && name != "TUTTI_INTEL_MPI_ROOT";
    if (!is_foreign && !changes.contains(name)) result.push_back(text);
  }
  for (const auto& [name, value] : changes) {
    if (!value.empty()) result.push_back(name + "=" + value);
  }
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

void append(std::vector<std::string>& list, const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

Command open_mpi(const RunPlan& plan) {
  Command command;
  command.arguments = {"mpirun.openmpi",  "-n",    std::to_string(plan.ranks), "--bind-to", "none",
                       "--oversubscribe", "--mca", "mpi_yield_when_idle",      "1"};
  if (geteuid() == 0) command.arguments.emplace_back("--allow-run-as-root");
  if (plan.leaves_survivors) {
    append(command.arguments, {"--enable-recovery", "--mca", "orte_abort_on_non_zero_status", "0"});
  }
  return command;
}

Command mpich(const RunPlan& plan) {
  Command command;
  command.arguments = {"mpirun.mpich", "-n", std::to_string(plan.ranks), "-launcher", "fork"};
  if (plan.leaves_survivors) command.arguments.emplace_back("-disable-auto-cleanup");
  return command;
}

Command intel_mpi(const RunPlan& plan) {
  const std::string root = TUTTI_TEST_INTEL_MPI_ROOT;
  if (root.empty()) return {};
  const char* path = std::getenv("PATH");
  Command command;
  command.environment = {{"I_MPI_PIN", "0"},
                         {"I_MPI_FABRICS", "shm"},
                         {"I_MPI_ROOT", root},
                         {"FI_PROVIDER_PATH", root + "/lib"},
                         {"PATH", root + "/bin:" + (path != nullptr ? path : "")},
                         {"LD_LIBRARY_PATH", root + "/lib"}};
  // With more ranks than cores, its collectives in shared memory gave wrong data: see backends/mpi/README.md.
  command.arguments = {root + "/bin/mpiexec.hydra", "-n",   std::to_string(plan.ranks), "-bootstrap", "fork", "-genv",
                       "I_MPI_COLL_INTRANODE",      "pt2pt"};
  if (plan.leaves_survivors) command.arguments.emplace_back("-disable-auto-cleanup");
  return command;
}

}  // namespace

Environment common_environment(const RunPlan& plan, const std::string& job) {
  Environment variables = {{kJobVariable, job},
                           {"TUTTI_BACKEND", plan.id.backend},
                           {"TUTTI_RENDEZVOUS_TIMEOUT", std::to_string(plan.rendezvous.count()) + "ms"}};
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}) {
    variables[name] = "";
  }
  if (plan.timeout.count() > 0) variables["TUTTI_TIMEOUT"] = std::to_string(plan.timeout.count()) + "ms";
  if (plan.checks) variables["TUTTI_CHECK"] = "1";
  if (plan.id.fault == Fault::shm_full && plan.id.backend == "native") {
    variables["TUTTI_NATIVE_SEGMENT"] = variant_name(plan);
  }
  if (plan.id.backend.starts_with("fake")) {
    variables["TUTTI_MODULE_PATH"] = TUTTI_TEST_MODULES;
    const std::size_t at = plan.id.backend.find('@');
    if (at != std::string::npos) {
      variables["TUTTI_BACKEND"] = plan.id.backend.substr(0, at);
      variables["TUTTI_FAKE_FAULTY_HOW"] = plan.id.backend.substr(at + 1);
    }
  }
  return variables;
}

std::vector<std::string> rank_command(const RunPlan& plan, const std::string& folder) {
  const RunId& id = plan.id;
  return {program(),
          "--as-rank",
          folder,
          std::to_string(id.seed),
          std::to_string(id.run),
          id.backend,
          std::string(row_of(id.fault).name),
          std::to_string(id.fewest_ranks),
          std::to_string(id.most_ranks)};
}

bool needs_launcher(const std::string& backend) { return backend.starts_with("mpi"); }

Command launcher_command(const RunPlan& plan, const std::string& folder, const std::string& job) {
  Command command = plan.id.backend == "mpi:openmpi" ? open_mpi(plan)
                    : plan.id.backend == "mpi:mpich" ? mpich(plan)
                                                     : intel_mpi(plan);
  if (command.arguments.empty()) return command;
  command.environment.merge(common_environment(plan, job));
  append(command.arguments, rank_command(plan, folder));
  return command;
}

pid_t start_process(const Command& command, const Sandbox& sandbox, const std::string& output) {
  std::vector<std::string> arguments = command.arguments;
  std::vector<std::string> variables = merged(command.environment);
  const std::vector<char*> argument_pointers = pointers(arguments);
  const std::vector<char*> variable_pointers = pointers(variables);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  // Only async-signal-safe calls from here on: the campaign has a second thread.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  setpgid(0, 0);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
  const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (file < 0 || input < 0 || !sandbox.enter()) _exit(126);
  dup2(input, STDIN_FILENO);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  execvpe(argument_pointers[0], argument_pointers.data(), variable_pointers.data());
  _exit(127);
}

}  // namespace tutti::test::campaign
