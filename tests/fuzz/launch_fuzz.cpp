// Variables that a launcher passes to the ranks, one a line, with compressed lists of hosts and of counts.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "fuzz.hpp"
#include "launch/host_list.hpp"
#include "launch/launchers.hpp"
#include "tutti/error.hpp"

namespace tutti::fuzz {

namespace {

constexpr std::size_t kMostHosts = 200;

constexpr std::array<std::string_view, 8> kSeeds = {
    "n[1-3,07-09],m5",
    "a[1-2]b[3-4]",
    "2(x3),1",
    "n[001-100]",
    "4",
    "n[1-",
    "SLURM_JOB_ID=7\nSLURM_STEP_ID=0\nSLURM_NTASKS=4\nSLURM_STEP_NUM_TASKS=4\nSLURM_PROCID=1\nSLURM_STEP_NUM_NODES=2\n"
    "SLURM_NODEID=0\nSLURM_STEP_TASKS_PER_NODE=2(x2)\nSLURM_LOCALID=1\nSLURM_STEP_NODELIST=n[1-2]\n",
    "PMI_RANK=1\nPMI_SIZE=4\nOMPI_COMM_WORLD_RANK=0\nOMPI_COMM_WORLD_SIZE=2\nPMIX_RANK=3\n"};
constexpr std::array<std::string_view, 16> kWords = {"[",
                                                     "]",
                                                     ",",
                                                     "-",
                                                     "(x",
                                                     ")",
                                                     "=",
                                                     "\n",
                                                     "999999999",
                                                     "0",
                                                     "-1",
                                                     "SLURM_PROCID=",
                                                     "SLURM_STEP_NODELIST=n[1-2]\n",
                                                     "SLURM_STEP_TASKS_PER_NODE=",
                                                     "PMIX_RANK=",
                                                     "\xff"};

std::map<std::string, std::string> variables_in(std::string_view input) {
  std::map<std::string, std::string> variables;
  while (!input.empty()) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return variables;
}

void check_variables(std::string_view input) {
  const auto variables = variables_in(input);
  const auto lookup = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  if (const auto step = slurm_step(lookup)) {
    require(step->size >= 1 && step->rank >= 0 && step->rank < step->size, "a rank of a step is out of range");
    require(step->local_rank < 0 || step->local_size < 0 || step->local_rank < step->local_size,
            "a local rank is out of range");
  }
  if (const auto tasks = started_tasks(lookup)) require(!tasks->seen.empty(), "tasks were seen nowhere");
}

}  // namespace

const Material material = {kSeeds, kWords};

void try_input(std::string_view input) {
  const auto hosts = expand_host_list(input, kMostHosts);
  require(hosts.size() <= kMostHosts, "there are more hosts than allowed");
  for (const std::string& host : hosts) {
    require(!host.empty() && host.find_first_of("[],") == std::string::npos, "a host is no single name");
  }
  for (const std::size_t index : {0, 1, 5}) {
    const auto count = count_at(input, index);
    require(!count || *count >= 0, "a count is negative");
  }
  expect_value_or<Error>([&] { check_variables(input); });
}

}  // namespace tutti::fuzz
