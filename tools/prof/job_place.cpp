#include "prof/job_place.hpp"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iomanip>
#include <iterator>
#include <sstream>

#include "launch/launchers.hpp"
#include "text/text.hpp"
#include "tutti/spi/environment.hpp"

namespace tutti::tools {
namespace {

std::optional<std::string> lookup(const std::string& name) {
  std::optional<std::string> value = spi::environment(name);
  return value && value->empty() ? std::nullopt : value;
}

std::optional<int> number(const char* name) {
  const std::optional<std::string> text = lookup(name);
  int value = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc()) return std::nullopt;
  return value;
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Fields of /proc/PID/stat that are needed here.
struct Ancestor {
  pid_t parent = 0;
  std::string start;  ///< time since the boot
};

Ancestor look_at(pid_t pid) {
  const std::string stat = content(concat("/proc/", pid, "/stat"));
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream fields(stat.substr(end + 2));
  Ancestor found;
  std::string word;
  fields >> word >> found.parent;
  for (int i = 0; i < 17; ++i) fields >> word;
  fields >> found.start;
  return found;
}

/// The launcher's process on this host: the first ancestor that is no rank itself. Its pid may come again after it has
/// ended, but not with the same time of start since the same boot.
std::string launcher_process(const std::string& rank_variable) {
  const std::string mark = concat('\0', rank_variable, '=', lookup(rank_variable).value_or(""), '\0');
  pid_t pid = getppid();
  Ancestor ancestor = look_at(pid);
  while (pid > 1 && concat('\0', content(concat("/proc/", pid, "/environ"))).find(mark) != std::string::npos) {
    pid = ancestor.parent;
    ancestor = look_at(pid);
  }
  return concat("process ", pid, ' ', ancestor.start, ' ', content("/proc/sys/kernel/random/boot_id"));
}

/// Numbers by which launchers know a job. A job has some of them.
std::string job_variables() {
  constexpr std::array kNames = {
      "TUTTI_JOB_ID", "I_MPI_HYDRA_UUID", "OMPI_MCA_orte_hnp_uri", "PMIX_NAMESPACE", "PALS_APID",
      "PMI_JOBID",    "FLUX_JOB_ID",      "SLURM_CLUSTER_NAME",    "SLURM_JOB_ID",   "SLURM_STEP_ID",
      "PBS_JOBID",    "LSB_JOBID",        "MASTER_ADDR",           "MASTER_PORT",    "TORCHELASTIC_RUN_ID"};
  std::string text;
  for (const char* name : kNames) text += concat(name, '=', lookup(name).value_or(""), '\n');
  std::array<char, 4096> folder{};
  // For launchers that pass nothing (MPICH's with ssh): at least the folder and the size of the job.
  if (getcwd(folder.data(), folder.size()) != nullptr) text += folder.data();
  return text;
}

JobPlace place_of(int rank, int size, const std::string& rank_variable, std::optional<int> local_size) {
  JobPlace place{.rank = rank, .size = size, .spans_hosts = local_size && *local_size < size, .key = {}};
  const std::string seed = place.spans_hosts ? job_variables() : launcher_process(rank_variable);
  place.key = short_hash(concat(seed, ' ', size));
  return place;
}

std::optional<int> local_size() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "PALS_LOCAL_SIZE",
                           "MV2_COMM_WORLD_LOCAL_SIZE", "LOCAL_WORLD_SIZE"}) {
    if (const std::optional<int> size = number(name)) return size;
  }
  return std::nullopt;
}

}  // namespace

std::string short_hash(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char character : text) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  std::ostringstream out;
  out << std::hex << std::setw(16) << std::setfill('0') << hash;
  return out.str();
}

JobPlace own_place() {
  const std::optional<StartedTasks> tasks = started_tasks(lookup);
  std::optional<SlurmStep> step;
  try {
    step = slurm_step(lookup);
  } catch (const std::exception&) {
    // Variables that contradict each other are for the command to refuse, not for its profiler.
  }
  if (step && (!tasks || is_same_start(*tasks, *step))) {
    return place_of(step->rank, step->size, "SLURM_PROCID",
                    step->on_one_host ? step->size : std::max(step->local_size, 1));
  }
  if (tasks && tasks->rank && tasks->size)
    return place_of(*tasks->rank, *tasks->size, tasks->rank_variable, local_size());
  const std::optional<int> rank = number("RANK");
  const std::optional<int> size = number("WORLD_SIZE");
  if (rank && size && (lookup("TUTTI_STORE") || lookup("MASTER_PORT")))
    return place_of(*rank, *size, "RANK", local_size());
  return {};
}

}  // namespace tutti::tools
