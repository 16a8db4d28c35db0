#include "session/session_config.hpp"

#include <stdlib.h>

#include <charconv>
#include <cstring>
#include <optional>

namespace tutti::profiling {
namespace {

// A program with more rights than its user does not believe the user's environment.
std::string_view variable(const char* name) noexcept {
  const char* value = secure_getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

template <std::size_t size>
bool copy(char (&to)[size], std::string_view text) noexcept {
  if (text.size() >= size) return false;
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  to[text.size()] = 0;
  return true;
}

template <typename Number>
std::optional<Number> parse(std::string_view text) noexcept {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> parse_memory(std::string_view text) noexcept {
  int shift = 0;
  if (!text.empty()) {
    const char unit = static_cast<char>(text.back() | 0x20);
    shift = unit == 'k' ? 10 : unit == 'm' ? 20 : unit == 'g' ? 30 : 0;
    if (shift != 0) text.remove_suffix(1);
  }
  const auto number = parse<std::uint64_t>(text);
  if (!number || *number > SessionConfig::kMostMemory >> shift) return std::nullopt;
  const std::uint64_t bytes = *number << shift;
  return bytes < SessionConfig::kLeastMemory ? SessionConfig::kLeastMemory : bytes;
}

// Calls take(item) for each item of a list with commas, until it returns true; says whether it did.
template <typename Take>
bool any_item(std::string_view list, Take&& take) noexcept {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (take(list.substr(0, comma))) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

struct LauncherVariables {
  const char* rank;
  const char* size;
};

void read_launcher(SessionConfig& config) noexcept {
  static constexpr LauncherVariables kLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                                     {"PMI_RANK", "PMI_SIZE"},
                                                     {"PMIX_RANK", nullptr},
                                                     {"PALS_RANKID", "PALS_SIZE"},
                                                     {"SLURM_PROCID", "SLURM_NTASKS"},
                                                     {"RANK", "WORLD_SIZE"}};
  for (const LauncherVariables& launcher : kLaunchers) {
    const auto rank = parse<int>(variable(launcher.rank));
    if (!rank || *rank < 0) continue;
    config.rank = *rank;
    if (launcher.size != nullptr) config.size = parse<int>(variable(launcher.size)).value_or(0);
    return;
  }
}

}  // namespace

bool is_switched_on(const char* name) noexcept { return variable(name) == "1"; }

void read_environment(SessionConfig& config) noexcept {
  if (!copy(config.folder, variable("TUTTI_PROF_SESSION"))) {
    config.problem = "TUTTI_PROF_SESSION is longer than a path can be; nothing is recorded";
  }
  const std::string_view temporary = variable("TMPDIR");
  if (temporary.empty() || temporary.front() != '/' || !copy(config.temporary, temporary)) {
    copy(config.temporary, "/tmp");
  }
  if (!copy(config.record, variable("TUTTI_RECORD"))) {
    config.problem = "TUTTI_RECORD is longer than a path can be; no record is made";
  }
  if (!copy(config.sources, variable("TUTTI_PROF_SOURCES"))) {
    config.problem = "TUTTI_PROF_SOURCES is longer than 1023 characters and ignored";
  }
  if (!copy(config.ranks, variable("TUTTI_PROF_RANKS"))) {
    config.problem = "TUTTI_PROF_RANKS is longer than 1023 characters and ignored";
  }
  if (const std::string_view memory = variable("TUTTI_PROF_MEMORY"); !memory.empty()) {
    if (const auto bytes = parse_memory(memory)) {
      config.memory = *bytes;
    } else {
      config.problem = "TUTTI_PROF_MEMORY is no size such as 64M, or above 64G; 64M holds";
    }
  }
  config.paused = is_switched_on("TUTTI_PROF_PAUSED");
  config.timeline = is_switched_on("TUTTI_PROF_TIMELINE");
  config.force_device_times = is_switched_on("TUTTI_PROF_DEVICE_TIMES");
  if (const std::string_view mode = variable("TUTTI_PROF_MODE"); mode == "minimal") {
    config.mode = TracingMode::minimal;
  } else if (mode == "full") {
    config.mode = TracingMode::full;
  } else if (!mode.empty() && mode != "standard") {
    config.problem = "TUTTI_PROF_MODE is none of minimal, standard, full; standard holds";
  }
  read_launcher(config);
}

bool list_has_source(std::string_view list, std::string_view source) noexcept {
  if (list.empty()) return source != "memory";
  return any_item(list, [&](std::string_view item) { return item == source || item == "all"; });
}

bool list_has_rank(std::string_view list, int rank) noexcept {
  if (list.empty()) return true;
  return any_item(list, [&](std::string_view item) {
    if (item == "-1") return true;
    const std::size_t dash = item.find('-');
    const auto first = parse<int>(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse<int>(item.substr(dash + 1));
    return first && last && *first <= rank && rank <= *last;
  });
}

}  // namespace tutti::profiling
