#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tutti/export.hpp"

/// Variables that launchers other than tutti's own set in the tasks that they start.
namespace tutti {

/// Value of an environment variable; nothing if it is empty or not set.
using VariableLookup = std::function<std::optional<std::string>(const std::string&)>;

/// Tasks that a launcher started, this process among them.
struct StartedTasks {
  std::optional<int> rank;
  std::optional<int> size;  ///< nothing: the launcher does not pass it
  std::string rank_variable;
  std::string size_variable;
  std::string seen;  ///< the variables and their values, for messages: "PMI_RANK=1, PMI_SIZE=4"
};

/// The tasks that a launcher without a resource manager started; nothing if no variable of a known launcher is set.
/// When launchers are nested, the innermost one.
[[nodiscard]] TUTTI_API std::optional<StartedTasks> started_tasks(const VariableLookup& lookup);

/// A step of the resource manager Slurm (`srun`), as seen by one of its tasks.
struct SlurmStep {
  int rank = 0;
  int size = 1;
  int local_rank = -1;  ///< -1: unknown
  int local_size = -1;  ///< -1: unknown
  bool on_one_host = false;
  std::string first_host;  ///< that of rank 0; empty: unknown
  std::string hosts;       ///< SLURM_STEP_NODELIST, for messages
  std::uint64_t job = 0;
  std::uint64_t step = 0;
};

/// The step that this process is a task of; nothing outside a step: in a batch script, in the shell of an allocation,
/// or without Slurm. Throws Error{config} naming the variables if they contradict each other.
[[nodiscard]] TUTTI_API std::optional<SlurmStep> slurm_step(const VariableLookup& lookup);

/// Whether the launcher's tasks are the tasks of the step: the step itself may set the variables of a launcher, while a
/// launcher that was started inside the step has other ranks.
[[nodiscard]] TUTTI_API bool is_same_start(const StartedTasks& tasks, const SlurmStep& step);

/// Port of the step's store: below the range from which the system takes ports, and different for steps that run at the
/// same time in one job.
[[nodiscard]] TUTTI_API int port_of(const SlurmStep& step);

}  // namespace tutti
