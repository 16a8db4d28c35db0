#include "settings/horovod_settings.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"
#include "tutti/spi/printable.hpp"

namespace tutti::horovod {
namespace {

constexpr std::string_view kCompat = "HOROVOD_COMPAT";
// 24 days: a longer cycle is a mistyped number.
constexpr double kLongestCycleMs = 0x1p31;

/// Reads checked values by name.
class Values {
 public:
  explicit Values(const Lookup& lookup) : lookup_(lookup) {
    if (const auto value = raw(kCompat)) {
      check_horovod_value(*find_horovod_variable(kCompat), *value, false);
      compatible_ = read_flag(*value);
    }
  }

  [[nodiscard]] bool compatible() const noexcept { return compatible_; }

  [[nodiscard]] std::optional<std::string> text(std::string_view name) const {
    auto value = raw(name);
    if (value) check_horovod_value(*find_horovod_variable(name), *value, compatible_);
    return value;
  }
  [[nodiscard]] std::optional<bool> flag(std::string_view name) const {
    const auto value = text(name);
    return value ? std::optional(read_flag(*value)) : std::nullopt;
  }
  /// Upstream stores some of them in 32 bits, without a check.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name, std::int64_t least,
                                                    std::int64_t most) const {
    const auto value = text(name);
    if (!value) return {};
    const std::int64_t number = read_integer(*value);
    if (number >= least && number <= most) return number;
    if (compatible_) return std::clamp(number, least, most);
    throw Error(ErrorCode::config, std::string(name) + '=' + spi::printable(*value) + " is out of range; accepted: " +
                                       std::to_string(least) + " to " + std::to_string(most));
  }
  [[nodiscard]] std::optional<double> real(std::string_view name, double most) const {
    const auto value = text(name);
    if (!value) return {};
    const double number = read_real(*value);
    if (number >= 0 && number <= most) return number;
    if (compatible_) return std::isnan(number) ? 0 : std::clamp(number, 0.0, most);
    throw Error(ErrorCode::config, std::string(name) + '=' + spi::printable(*value) + " is too large");
  }

 private:
  [[nodiscard]] std::optional<std::string> raw(std::string_view name) const {
    auto value = lookup_(std::string(name));
    return value && value->empty() ? std::nullopt : value;
  }

  const Lookup& lookup_;
  bool compatible_ = false;
};

std::vector<int> read_cores(const std::string& text) {
  std::vector<int> cores;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    int core = -1;
    const auto [rest, error] = std::from_chars(text.data() + begin, text.data() + end, core);
    if (error != std::errc{} || rest != text.data() + end || core < 0)
      throw Error(ErrorCode::config, "HOROVOD_THREAD_AFFINITY=" + spi::printable(text) +
                                         " is no list of core numbers separated by commas, one per local rank");
    cores.push_back(core);
    begin = end + 1;
  }
  return cores;
}

constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
constexpr std::int64_t kMostInt = std::numeric_limits<std::int32_t>::max();

void read_engine(const Values& values, bool several_hosts, HorovodSettings& settings) {
  if (const auto bytes = values.integer("HOROVOD_FUSION_THRESHOLD", 0, kMostBytes))
    settings.fusion_threshold = static_cast<std::size_t>(*bytes);
  if (const auto ms = values.real("HOROVOD_CYCLE_TIME", kLongestCycleMs))
    settings.cycle_time = std::chrono::nanoseconds(std::llround(*ms * 1e6));
  if (const auto entries = values.integer("HOROVOD_CACHE_CAPACITY", 0, kMostInt))
    settings.cache_capacity = static_cast<std::size_t>(*entries);
  for (const auto& [name, target] : {std::pair{"HOROVOD_HIERARCHICAL_ALLREDUCE", &settings.hierarchical_allreduce},
                                     {"HOROVOD_HIERARCHICAL_ALLGATHER", &settings.hierarchical_allgather},
                                     {"HOROVOD_TORUS_ALLREDUCE", &settings.torus_allreduce}}) {
    if (const auto on = values.flag(name)) *target = *on && several_hosts;
  }
  settings.batches_device_copies = values.flag("HOROVOD_BATCH_D2D_MEMCOPIES").value_or(true);
  settings.fuses_groups = !values.flag("HOROVOD_DISABLE_GROUP_FUSION").value_or(false);
  settings.dynamic_process_sets = values.flag("HOROVOD_DYNAMIC_PROCESS_SETS").value_or(false);
  if (const auto bytes = values.integer("HOROVOD_ADASUM_MPI_CHUNK_SIZE", 1, kMostBytes))
    settings.adasum_chunk = static_cast<std::size_t>(*bytes);
  if (const auto cores = values.text("HOROVOD_THREAD_AFFINITY")) settings.thread_affinity = read_cores(*cores);
}

void read_autotune(const Values& values, HorovodSettings& settings) {
  const auto number = [&](std::string_view name, std::int64_t least, int& target) {
    if (const auto value = values.integer(name, least, kMostInt)) target = static_cast<int>(*value);
  };
  settings.autotune = values.flag("HOROVOD_AUTOTUNE").value_or(false);
  settings.autotune_log = values.text("HOROVOD_AUTOTUNE_LOG").value_or("");
  number("HOROVOD_AUTOTUNE_WARMUP_SAMPLES", 0, settings.autotune_warmup_samples);
  number("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", 1, settings.autotune_steps_per_sample);
  number("HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", 1, settings.autotune_samples);
  settings.autotune_noise =
      values.real("HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE", 1e9).value_or(settings.autotune_noise);
}

void read_watching(const Values& values, HorovodSettings& settings) {
  settings.timeline = values.text("HOROVOD_TIMELINE").value_or("");
  settings.timeline_dynamic = settings.timeline == "DYNAMIC";
  if (settings.timeline_dynamic) settings.timeline.clear();
  settings.timeline_marks_cycles = values.flag("HOROVOD_TIMELINE_MARK_CYCLES").value_or(false);
  settings.stall_check = !values.flag("HOROVOD_STALL_CHECK_DISABLE").value_or(false);
  settings.stall_warning =
      std::chrono::seconds(values.integer("HOROVOD_STALL_CHECK_TIME_SECONDS", 0, kMostInt).value_or(60));
  settings.stall_shutdown =
      std::chrono::seconds(values.integer("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", 0, kMostInt).value_or(0));
}

std::optional<std::string> from_environment(const std::string& name) { return spi::environment(name); }

/// The error in the value, or why the variable has no effect.
std::string note_for(const HorovodVariable& variable, const std::string& value, bool compatible) {
  try {
    check_horovod_value(variable, value, compatible);
  } catch (const Error& error) {
    return error.what();
  }
  return variable.is_honoured ? "" : std::string(variable.help);
}

}  // namespace

HorovodSettings read_horovod_settings(const Lookup& lookup, bool several_hosts) {
  const Values values(lookup);
  HorovodSettings settings;
  settings.compatible = values.compatible();
  read_engine(values, several_hosts, settings);
  read_autotune(values, settings);
  read_watching(values, settings);
  return settings;
}

HorovodSettings read_horovod_settings(bool several_hosts) {
  return read_horovod_settings(from_environment, several_hosts);
}

std::vector<HorovodListing> list_horovod_variables(const Lookup& lookup) {
  const bool compatible = read_flag(lookup(std::string(kCompat)).value_or(""));
  std::vector<HorovodListing> lines;
  for (const HorovodVariable& variable : horovod_variables()) {
    const std::string value = lookup(std::string(variable.name)).value_or("");
    HorovodListing line{.variable = &variable, .value = std::string(variable.default_value), .note = {}};
    if (!value.empty()) {
      line.is_set = true;
      line.value = variable.is_secret ? "(set)" : value;
      line.note = note_for(variable, value, compatible);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<HorovodListing> list_horovod_variables() { return list_horovod_variables(from_environment); }

std::vector<std::string> unknown_horovod_variables(const std::vector<std::string>& names) {
  std::vector<std::string> unknown;
  std::ranges::copy_if(names, std::back_inserter(unknown), [](const std::string& name) {
    return name.starts_with("HOROVOD_") && find_horovod_variable(name) == nullptr;
  });
  return unknown;
}

}  // namespace tutti::horovod
