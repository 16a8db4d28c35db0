#include "autotune/tuning_plan.hpp"

namespace tutti::horovod {
namespace {

/// Calls f with the member that the switch means.
template <typename Values, typename F>
void visit_switch(Values& values, TunedSwitch parameter, F&& f) {
  switch (parameter) {
    case TunedSwitch::hierarchical_allreduce:
      return f(values.hierarchical_allreduce);
    case TunedSwitch::hierarchical_allgather:
      return f(values.hierarchical_allgather);
    case TunedSwitch::torus_allreduce:
      return f(values.torus_allreduce);
    case TunedSwitch::cache_enabled:
      return f(values.cache_enabled);
    case TunedSwitch::partition_mb:
      return f(values.partition_mb);
    case TunedSwitch::inner_backend:
      return f(values.inner_backend);
  }
}

}  // namespace

void set(TunedValues& values, TunedSwitch parameter, double value) noexcept {
  visit_switch(values, parameter, [&]<typename T>(T& member) { member = static_cast<T>(value); });
}

double get(const TunedValues& values, TunedSwitch parameter) noexcept {
  double value = 0;
  visit_switch(values, parameter, [&](const auto& member) { value = static_cast<double>(member); });
  return value;
}

TuningPlan make_tuning_plan(const HorovodSettings& settings, bool several_hosts) {
  TuningPlan plan;
  plan.start.fusion_threshold_mb = static_cast<double>(settings.fusion_threshold_or_default()) / 0x1p20;
  plan.start.cycle_time_ms = static_cast<double>(settings.cycle_time_or_default().count()) / 1e6;
  plan.start.hierarchical_allreduce = settings.hierarchical_allreduce.value_or(false);
  plan.start.hierarchical_allgather = settings.hierarchical_allgather.value_or(false);
  plan.start.torus_allreduce = settings.torus_allreduce.value_or(false);
  plan.start.cache_enabled = settings.cache_capacity_or_default() > 0;
  plan.tunes_fusion = !settings.fusion_threshold;
  plan.tunes_cycle = !settings.cycle_time;
  const auto add = [&](TunedSwitch parameter, bool is_fixed) {
    if (!is_fixed) plan.switches.push_back({parameter, {0, 1}});
  };
  add(TunedSwitch::hierarchical_allreduce, !several_hosts || settings.hierarchical_allreduce.has_value());
  add(TunedSwitch::hierarchical_allgather, !several_hosts || settings.hierarchical_allgather.has_value());
  add(TunedSwitch::torus_allreduce, !several_hosts || settings.torus_allreduce.has_value());
  add(TunedSwitch::cache_enabled, settings.cache_capacity.has_value());
  plan.warmup_scores = settings.autotune_warmup_samples;
  plan.steps_per_sample = settings.autotune_steps_per_sample;
  plan.most_points = settings.autotune_samples;
  plan.search.noise = settings.autotune_noise;
  return plan;
}

}  // namespace tutti::horovod
