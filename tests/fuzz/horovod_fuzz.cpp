// Variables of Horovod, one a line, and files with the best values of autotune.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "autotune/tuned_values.hpp"
#include "fuzz.hpp"
#include "settings/horovod_settings.hpp"
#include "tutti/error.hpp"

namespace tutti::fuzz {

namespace {

constexpr std::array<std::string_view, 6> kSeeds = {
    "HOROVOD_FUSION_THRESHOLD=67108864\nHOROVOD_CYCLE_TIME=0.5\nHOROVOD_CACHE_CAPACITY=0\nHOROVOD_AUTOTUNE=1\n",
    "HOROVOD_AUTOTUNE_WARMUP_SAMPLES=3\nHOROVOD_AUTOTUNE_STEPS_PER_SAMPLE=10\nHOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES="
    "20\nHOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE=0.8\n",
    "HOROVOD_STALL_CHECK_TIME_SECONDS=60\nHOROVOD_STALL_SHUTDOWN_TIME_SECONDS=0\nHOROVOD_STALL_CHECK_DISABLE=1\n",
    "HOROVOD_THREAD_AFFINITY=3,0,12\nHOROVOD_HIERARCHICAL_ALLREDUCE=1\nHOROVOD_TIMELINE=DYNAMIC\n",
    "HOROVOD_ADASUM_MPI_CHUNK_SIZE=1024\nHOROVOD_LOG_LEVEL=debug\nHOROVOD_DISABLE_GROUP_FUSION=1\n",
    "tutti-horovod-tuning 1\nfusion_threshold_mb 64\ncycle_time_ms 1.5\nhierarchical_allreduce 1\nscore 3e9\n"
    "inner_backend mpi:openmpi\n# end\n"};
constexpr std::array<std::string_view, 18> kWords = {"=",
                                                     "\n",
                                                     ",",
                                                     "-1",
                                                     "1e400",
                                                     "nan",
                                                     "inf",
                                                     "0x10",
                                                     " ",
                                                     "18446744073709551616",
                                                     "9223372036854775807",
                                                     "true",
                                                     "HOROVOD_CYCLE_TIME=",
                                                     "HOROVOD_FUSION_THRESHOLD=",
                                                     "HOROVOD_THREAD_AFFINITY=",
                                                     "cycle_time_ms ",
                                                     "partition_mb 4\n",
                                                     "\xff"};

std::map<std::string, std::string> variables_in(std::string_view input) {
  std::map<std::string, std::string> variables;
  while (!input.empty()) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(line.size() + 1, input.size()));
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) variables.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return variables;
}

}  // namespace

const Material material = {kSeeds, kWords};

void try_input(std::string_view input) {
  const auto variables = variables_in(input);
  for (const bool several_hosts : {false, true}) {
    expect_value_or<Error>([&] {
      const auto settings = horovod::read_horovod_settings(
          [&](const std::string& name) -> std::optional<std::string> {
            const auto found = variables.find(name);
            return found == variables.end() ? std::nullopt : std::optional(found->second);
          },
          several_hosts);
      require(settings.cycle_time_or_default().count() >= 0, "the cycle time is negative");
      require(settings.stall_warning.count() >= 0, "the time of a stall is negative");
    });
  }
  expect_value_or<Error>([&] {
    const horovod::TuningResult result = horovod::tuning_from_text(input, "input");
    const std::string text = horovod::to_text(result);
    require(horovod::to_text(horovod::tuning_from_text(text, "printed")) == text,
            "values are others after they were printed");
  });
}

}  // namespace tutti::fuzz
