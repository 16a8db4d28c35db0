#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "settings/horovod_variable.hpp"

namespace tutti::horovod {

/// The values of upstream's variables that this engine honours. `std::optional` is used where upstream makes a
/// difference between a default and the same value set by the user, which autotune then leaves alone.
struct HorovodSettings {
  bool compatible = false;  ///< HOROVOD_COMPAT

  std::optional<std::size_t> fusion_threshold;
  std::optional<std::chrono::nanoseconds> cycle_time;
  std::optional<std::size_t> cache_capacity;
  std::optional<bool> hierarchical_allreduce;
  std::optional<bool> hierarchical_allgather;
  std::optional<bool> torus_allreduce;

  bool autotune = false;
  std::string autotune_log;
  int autotune_warmup_samples = 3;
  int autotune_steps_per_sample = 10;
  int autotune_samples = 20;
  double autotune_noise = 0.8;

  std::string timeline;           ///< path; empty for none and for a dynamic one
  bool timeline_dynamic = false;  ///< HOROVOD_TIMELINE=DYNAMIC
  bool timeline_marks_cycles = false;

  bool stall_check = true;
  std::chrono::seconds stall_warning{60};
  std::chrono::seconds stall_shutdown{0};  ///< 0: never

  bool batches_device_copies = true;
  bool fuses_groups = true;  ///< with other tensors
  bool dynamic_process_sets = false;
  std::size_t adasum_chunk = std::size_t{1} << 30;
  std::vector<int> thread_affinity;  ///< core by local rank; empty: none

  [[nodiscard]] std::size_t fusion_threshold_or_default() const noexcept {
    return fusion_threshold.value_or(std::size_t{128} << 20);
  }
  [[nodiscard]] std::chrono::nanoseconds cycle_time_or_default() const noexcept {
    return cycle_time.value_or(std::chrono::milliseconds(1));
  }
  [[nodiscard]] std::size_t cache_capacity_or_default() const noexcept { return cache_capacity.value_or(1024); }
};

/// Value of a variable of the environment; nothing if it is not set.
using Lookup = std::function<std::optional<std::string>(const std::string&)>;

/// Reads the variables; an empty one counts as not set. Throws Error{config} that names the variable and its value.
/// `several_hosts`: on one host the hierarchical and torus switches have no effect, as upstream.
[[nodiscard]] HorovodSettings read_horovod_settings(const Lookup& lookup, bool several_hosts);

/// The same from the environment of the process.
[[nodiscard]] HorovodSettings read_horovod_settings(bool several_hosts);

/// A line of a listing of the variables.
struct HorovodListing {
  const HorovodVariable* variable;
  std::string value;    ///< "(set)" for a secret
  bool is_set = false;  ///< in the environment
  std::string note;     ///< error in the value, or the reason why a variable that is set has no effect; may be empty
};

/// All variables with their values, for people. Throws nothing for bad values: the note says so.
[[nodiscard]] std::vector<HorovodListing> list_horovod_variables(const Lookup& lookup);
[[nodiscard]] std::vector<HorovodListing> list_horovod_variables();

/// Names that begin with HOROVOD_ among `names` and are no variable of upstream, most likely misspelt.
[[nodiscard]] std::vector<std::string> unknown_horovod_variables(const std::vector<std::string>& names);

}  // namespace tutti::horovod
