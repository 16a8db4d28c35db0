#include "launch/launchers.hpp"

#include <array>
#include <limits>

#include "launch/host_list.hpp"
#include "settings/settings.hpp"
#include "tutti/error.hpp"

namespace tutti {
namespace {

struct Row {
  const char* rank;
  const char* size;  ///< null: the launcher does not pass it
};

// Innermost first: a launcher may run inside an allocation whose own variables its tasks inherit. PALS and Flux also
// set those of PMI, with the same values.
constexpr std::array kRows = {
    Row{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    Row{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    Row{"PMI_RANK", "PMI_SIZE"},
    Row{"PALS_RANKID", "PALS_SIZE"},
    Row{"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
    Row{"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    Row{"PMIX_RANK", nullptr},
};

// Slurm's numbers of steps that srun did not start: the batch script, the shell of an allocation, and others.
constexpr std::uint64_t kFirstSpecialStep = 0xfffffff0;

constexpr int kFirstPort = 20000;
constexpr int kPorts = 12000;               // Linux takes ports from 32768 on
constexpr std::uint64_t kPortsPerJob = 37;  // a prime that does not divide kPorts: spreads jobs with adjacent numbers

std::optional<std::uint64_t> number(const VariableLookup& lookup, const char* name) {
  const std::optional<std::string> text = lookup(name);
  return text ? parse_integer(*text) : std::nullopt;
}

std::optional<int> small_number(const VariableLookup& lookup, const char* name) {
  const std::optional<std::uint64_t> value = number(lookup, name);
  return value && *value <= std::numeric_limits<int>::max() ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::string shown(const VariableLookup& lookup, const char* name) {
  const std::optional<std::string> text = lookup(name);
  return std::string(name) + (text ? "=" + printable(*text) : " not set");
}

}  // namespace

std::optional<StartedTasks> started_tasks(const VariableLookup& lookup) {
  for (const Row& row : kRows) {
    StartedTasks tasks;
    tasks.rank = small_number(lookup, row.rank);
    if (row.size != nullptr) tasks.size = small_number(lookup, row.size);
    if (!tasks.rank && !tasks.size) continue;
    tasks.rank_variable = row.rank;
    tasks.seen = shown(lookup, row.rank);
    if (row.size != nullptr) {
      tasks.size_variable = row.size;
      tasks.seen += ", " + shown(lookup, row.size);
    }
    return tasks;
  }
  return std::nullopt;
}

std::optional<SlurmStep> slurm_step(const VariableLookup& lookup) {
  const std::optional<std::uint64_t> job = number(lookup, "SLURM_JOB_ID");
  const std::optional<std::uint64_t> step = number(lookup, "SLURM_STEP_ID");
  if (!job || !step || *step >= kFirstSpecialStep) return std::nullopt;
  // SLURM_NTASKS may be that of the allocation (srun --preserve-env), SLURM_STEP_NUM_TASKS is always that of the step.
  const char* const size_name = lookup("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  const std::optional<int> size = small_number(lookup, size_name);
  const std::optional<int> rank = small_number(lookup, "SLURM_PROCID");
  if (!rank || !size || *rank >= *size) {
    throw Error(ErrorCode::config,
                "the variables of the Slurm step do not give a rank below the number of tasks: " +
                    shown(lookup, "SLURM_PROCID") + ", " + shown(lookup, size_name) +
                    "; set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT in each task, or RANK=0 and WORLD_SIZE=1 if "
                    "each task is a job of its own");
  }
  SlurmStep result;
  result.rank = *rank;
  result.size = *size;
  result.job = *job;
  result.step = *step;
  result.hosts = lookup("SLURM_STEP_NODELIST").value_or("");
  const std::vector<std::string> hosts = expand_host_list(result.hosts);
  if (!hosts.empty()) result.first_host = hosts.front();
  const std::optional<int> nodes = small_number(lookup, "SLURM_STEP_NUM_NODES");
  result.on_one_host = nodes ? *nodes == 1 : hosts.size() == 1;
  const std::optional<int> node = small_number(lookup, "SLURM_NODEID");
  const std::optional<std::string> counts = lookup("SLURM_STEP_TASKS_PER_NODE");
  if (node && counts) result.local_size = count_at(*counts, static_cast<std::size_t>(*node)).value_or(-1);
  if (result.on_one_host) result.local_size = result.size;
  if (result.local_size < 1 || result.local_size > result.size) result.local_size = -1;
  const std::optional<int> local_rank = small_number(lookup, "SLURM_LOCALID");
  if (local_rank && *local_rank < (result.local_size > 0 ? result.local_size : result.size)) {
    result.local_rank = *local_rank;
  }
  return result;
}

bool is_same_start(const StartedTasks& tasks, const SlurmStep& step) {
  return tasks.rank.value_or(step.rank) == step.rank && tasks.size.value_or(step.size) == step.size;
}

int port_of(const SlurmStep& step) {
  return kFirstPort + static_cast<int>((step.job % kPorts * kPortsPerJob + step.step % kPorts) % kPorts);
}

}  // namespace tutti
