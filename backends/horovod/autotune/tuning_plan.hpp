#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "autotune/bayesian_search.hpp"
#include "autotune/tuned_values.hpp"
#include "settings/horovod_settings.hpp"

namespace tutti::horovod {

/// Parameters of few values, which are tried one after the other.
enum class TunedSwitch : std::uint8_t {
  hierarchical_allreduce,
  hierarchical_allgather,
  torus_allreduce,
  cache_enabled,
  partition_mb,
  inner_backend,
};

void set(TunedValues& values, TunedSwitch parameter, double value) noexcept;
[[nodiscard]] double get(const TunedValues& values, TunedSwitch parameter) noexcept;

/// A switch and its values.
struct SwitchChoice {
  TunedSwitch parameter = TunedSwitch::cache_enabled;
  std::vector<double> values;
};

/// A search for the best parameters.
struct TuningPlan {
  TunedValues start;         ///< without autotune; values that are not tuned stay as they are here
  bool tunes_fusion = true;  ///< false: set by the user
  bool tunes_cycle = true;
  Range fusion_mb{0, 64};
  Range cycle_ms{1, 100};
  std::vector<SwitchChoice> switches;  ///< in order of the trials
  std::vector<std::string> inner_backends;

  int warmup_scores = 3;      ///< scores that are thrown away
  int steps_per_sample = 10;  ///< times that a tensor is reduced during a sample
  int samples_per_score = 5;  ///< the score is their median
  int most_points = 20;       ///< upstream's count: one more point is tried
  BayesianSearch::Options search = {};

  /// The start is a point of the search, and the winner is compared with it again, `confirmations` times in turns,
  /// before it is taken: tuning never ends with values that are slower than the start. Upstream does neither.
  bool tries_start = true;
  int confirmations = 2;
  /// Tunes again when the bytes per step have changed by a quarter for two samples.
  bool watches_workload = false;
};

/// The plan that the variables ask for: values that the user has set are not tuned, and hierarchical switches only on
/// several hosts.
[[nodiscard]] TuningPlan make_tuning_plan(const HorovodSettings& settings, bool several_hosts);

}  // namespace tutti::horovod
