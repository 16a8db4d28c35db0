#include "autotune/autotuner.hpp"

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
          .cache = values.cache_enabled};
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
    log_.emplace(log_file_, options_.log_format);
  }
  // The engine has one way to reduce, so that the switches for several hosts have nothing to switch.
  TuningPlan plan = make_tuning_plan(settings, false);
  plan.start.partition_mb = static_cast<double>(options_.partition) / 0x1p20;
  if (options_.tunes_partition)
    plan.switches.push_back({TunedSwitch::partition_mb, {kPartitionsMb.begin(), kPartitionsMb.end()}});
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
  if (options_.result_file.empty() || manager_->best().score <= 0) return;
  try {
    save_tuning(options_.result_file, manager_->best());
  } catch (const std::exception&) {
    // The job goes on with the values; the next one searches again.
  }
}

Parameters load_parameters(const std::string& path, const HorovodSettings& settings,
                           std::optional<std::uint64_t> partition) {
  const TuningResult result = load_tuning(path);
  Parameters parameters = parameters_of(result.values);
  if (settings.fusion_threshold) parameters.fusion_threshold = *settings.fusion_threshold;
  if (partition) parameters.partition = *partition;
  if (settings.cycle_time) parameters.cycle_ns = static_cast<std::uint64_t>(settings.cycle_time->count());
  if (settings.cache_capacity) parameters.cache = true;  // a capacity of 0 has no cache all the same
  parameters.best_score = result.score;
  return parameters;
}

}  // namespace tutti::horovod
