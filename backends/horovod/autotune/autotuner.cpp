#include "autotune/autotuner.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "autotune/tuning_plan.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::horovod {
namespace {

/// None, BytePS's default, and a longer one.
constexpr std::array<double, 3> kPartitionsMb = {0, 4, 16};

Parameters parameters_of(const TunedValues& values) {
  return {.fusion_threshold = values.fusion_threshold_bytes(),
          .partition = values.partition_bytes(),
          .cycle_ns = static_cast<std::uint64_t>(values.cycle_time().count()),
          .cache = values.cache_enabled,
          .inner = static_cast<std::uint32_t>(values.inner_backend)};
}

}  // namespace

Autotuner::Autotuner(const HorovodSettings& settings, Options options, Time start) : options_(std::move(options)) {
  if (!settings.autotune_log.empty()) {
    log_file_.open(settings.autotune_log, std::ios::trunc);
    if (!log_file_) {
      throw Error(ErrorCode::system,
                  "HOROVOD_AUTOTUNE_LOG=" + spi::printable(settings.autotune_log) +
                      " cannot be written: " + std::generic_category().message(errno),
                  "horovod");
    }
    log_.emplace(log_file_, options_.log_format, options_.inner_backends);
  }
  // The engine has one way to reduce, so that the switches for several hosts have nothing to switch.
  TuningPlan plan = make_tuning_plan(settings, false);
  plan.start.partition_mb = static_cast<double>(options_.partition) / 0x1p20;
  if (options_.tunes_partition)
    plan.switches.push_back({TunedSwitch::partition_mb, {kPartitionsMb.begin(), kPartitionsMb.end()}});
  plan.inner_backends = options_.inner_backends;
  if (options_.inner_backends.size() > 1) {
    SwitchChoice choice{TunedSwitch::inner_backend, {}};
    for (std::size_t i = 0; i < options_.inner_backends.size(); ++i) choice.values.push_back(static_cast<double>(i));
    plan.switches.push_back(std::move(choice));
  }
  plan.watches_workload = options_.watches_workload;
  manager_.emplace(std::move(plan), log_ ? &*log_ : nullptr, start);
}

Parameters Autotuner::parameters() const {
  Parameters parameters = parameters_of(manager_->values());
  parameters.is_tuning = manager_->is_active();
  parameters.best_score = manager_->best().score;
  return parameters;
}

std::optional<Parameters> Autotuner::reduced(std::span<const std::string> names, std::uint64_t bytes, Time now) {
  const bool was_active = manager_->is_active();
  if (!manager_->update(names, bytes, now)) return std::nullopt;
  if (was_active && !manager_->is_active()) save();
  return parameters();
}

void Autotuner::finish(Time now) noexcept {
  if (!manager_->is_active()) return;
  try {
    manager_->finish(now);
  } catch (const std::exception&) {
    return;  // of memory; the job ends
  }
  save();
}

void Autotuner::save() noexcept {
  if (!options_.kept || manager_->best().score <= 0) return;
  try {
    options_.kept->save(manager_->best());
  } catch (const std::exception&) {
    // The job goes on with the values; the next one searches again.
  }
}

Parameters parameters_of(const TuningResult& result, const HorovodSettings& settings,
                         std::optional<std::uint64_t> partition, std::span<const std::string> inner_backends) {
  Parameters parameters = parameters_of(result.values);
  const auto inner = std::ranges::find(inner_backends, result.inner_backend);
  parameters.inner = inner == inner_backends.end() ? 0 : static_cast<std::uint32_t>(inner - inner_backends.begin());
  if (settings.fusion_threshold) parameters.fusion_threshold = *settings.fusion_threshold;
  if (partition) parameters.partition = *partition;
  if (settings.cycle_time) parameters.cycle_ns = static_cast<std::uint64_t>(settings.cycle_time->count());
  if (settings.cache_capacity) parameters.cache = true;  // a capacity of 0 has no cache all the same
  parameters.best_score = result.score;
  return parameters;
}

}  // namespace tutti::horovod
