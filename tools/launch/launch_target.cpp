#include "launch/launch_target.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <optional>

#include "text/text.hpp"
#include "tutti/backend_spec.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

constexpr std::string_view kAuto = "auto";

/// A backend, or one product of it.
struct Row {
  const BackendInfo* backend;
  std::string_view product = {};
  const spi::Launcher* launcher = nullptr;

  [[nodiscard]] std::string spec() const {
    return product.empty() ? backend->name : concat(backend->name, ':', product);
  }
  [[nodiscard]] bool nests() const { return backend->module != nullptr && backend->module->nests; }
};

// A module with one launcher comes before a module with several, which also serves less common products.
std::size_t place_of(const BackendInfo& backend) {
  if (backend.module == nullptr) return std::numeric_limits<std::size_t>::max();
  return backend.module->nests ? std::numeric_limits<std::size_t>::max() - 1 : backend.module->launchers.size();
}

std::vector<Row> rows_of(const std::vector<BackendInfo>& backends) {
  std::vector<Row> rows;
  for (const BackendInfo& backend : backends) {
    const spi::BackendModule* module = backend.module;
    if (module == nullptr) {
      rows.push_back({&backend, backend.variant});
    } else if (module->products.empty()) {
      rows.push_back({&backend, {}, module->launchers.empty() ? nullptr : module->launchers.data()});
    } else {
      for (const std::string_view product : module->products) {
        const auto found = std::ranges::find(module->launchers, product, &spi::Launcher::product);
        rows.push_back({&backend, product, found != module->launchers.end() ? &*found : nullptr});
      }
    }
  }
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return place_of(*row.backend); });
  return rows;
}

std::string listed(const std::vector<Row>& rows) {
  std::vector<std::string> words;
  std::vector<std::string> families;
  for (const Row& row : rows) {
    words.push_back(row.spec() + (row.nests() ? "[:SPEC]" : ""));
    if (!row.product.empty() && std::ranges::find(families, row.backend->name) == families.end())
      families.push_back(row.backend->name);
  }
  words.insert(words.end(), families.begin(), families.end());
  return join(words, ", ");
}

/// Rows that a spec names. For a backend that stands on another one, `inner` is the spec of that one.
struct Match {
  std::vector<Row> rows;
  std::string inner = {};
};

Match match(std::string_view text, const std::vector<Row>& rows) {
  const auto refuse = [&] { return UsageError(concat("unknown backend \"", text, "\"; accepted: ", listed(rows))); };
  BackendSpec spec;
  try {
    spec = parse_backend_spec(text);
  } catch (const Error&) {
    throw refuse();
  }
  Match result;
  for (const Row& row : rows) {
    if (row.backend->name != spec.name) continue;
    if (row.nests()) return {{row}, spec.rest};
    if (spec.rest.empty() || row.product == spec.rest) result.rows.push_back(row);
  }
  if (result.rows.empty()) throw refuse();
  return result;
}

std::optional<std::string> try_find(const std::string& name) {
  try {
    return find_program(name);
  } catch (const ProgramError&) {
    return std::nullopt;
  }
}

// Stores path and version of the program if it is the target's launcher.
bool accept(LaunchTarget& target, const std::string& path) {
  ProcessEnvironment environment;
  prepare_environment(target, 1, environment);
  const std::array<std::string, 1> arguments = {"--version"};
  const std::string output = output_of(path, arguments, environment, 5);
  if (!target.launcher->identifies(output)) return false;
  target.path = path;
  target.launcher_version = extract_version(output);
  return true;
}

void look_for_launcher(LaunchTarget& target) {
  const spi::Launcher& launcher = *target.launcher;
  std::vector<std::string> candidates(launcher.programs.begin(), launcher.programs.end());
  target.root = launcher_root(launcher);
  if (!target.root.empty()) candidates.insert(candidates.begin(), concat(target.root, '/', launcher.root_program));
  for (const std::string& candidate : candidates) {
    const std::optional<std::string> path = try_find(candidate);
    if (path && accept(target, *path)) return;
    target.root.clear();  // applies only to the launcher in that folder
  }
  target.usable = false;
  target.reason = concat("no launcher of ", launcher.title, " found (looked for ", join(candidates, ", "), "); ",
                         launcher.root_variable.empty() ? "install it or add it to PATH"
                                                        : concat("set ", launcher.root_variable, " to its folder"));
}

void take_launcher(LaunchTarget& target, const LaunchTarget& other) {
  target.launcher = other.launcher;
  target.path = other.path;
  target.launcher_version = other.launcher_version;
  target.root = other.root;
}

// The launcher of another module starts the ranks if that module is there and its launcher is usable.
void launch_through(LaunchTarget& target, std::string_view spec, const std::vector<Row>& rows) {
  const auto found =
      std::ranges::find_if(rows, [&](const Row& row) { return row.launcher != nullptr && row.spec() == spec; });
  if (found == rows.end()) return;
  LaunchTarget other;
  other.launcher = found->launcher;
  look_for_launcher(other);
  if (other.usable) take_launcher(target, other);
}

void look_for_library(LaunchTarget& target, BackendInfo backend) {
  probe(backend);
  target.usable = backend.usable;
  if (!backend.usable) target.reason = backend.reason;
  target.version = backend.version;
}

LaunchTarget make_target(const Row& row, const std::vector<Row>& rows) {
  LaunchTarget target;
  target.spec = row.spec();
  target.module = row.backend->module;
  target.launcher = row.launcher;
  if (target.module == nullptr) {
    target.usable = false;
    target.reason = concat(row.backend->location, ' ', row.backend->reason);
  } else if (target.launcher != nullptr) {
    look_for_launcher(target);
    target.version = target.launcher_version;
  } else {
    look_for_library(target, *row.backend);
    if (target.usable && !target.module->launched_through.empty())
      launch_through(target, target.module->launched_through, rows);
  }
  return target;
}

LaunchTarget first_usable(const Match& match, const std::vector<Row>& rows) {
  std::vector<std::string> reasons;
  for (const Row& row : match.rows) {
    LaunchTarget target = make_target(row, rows);
    if (target.usable || match.rows.size() == 1) return target;
    reasons.push_back(concat(target.spec, ": ", target.reason));
  }
  LaunchTarget none;
  none.spec = match.rows.front().backend->name;
  none.usable = false;
  none.reason = join(reasons, "; ");
  return none;
}

LaunchTarget find(std::string_view text, const std::vector<Row>& rows) {
  const Match found = match(text, rows);
  LaunchTarget target = first_usable(found, rows);
  if (found.inner.empty()) return target;
  LaunchTarget inner;
  inner.spec = kAuto;
  if (found.inner != kAuto) inner = find(found.inner, rows);
  target.spec = concat(target.spec, ':', inner.spec);
  if (inner.launcher != nullptr) take_launcher(target, inner);
  if (target.usable && !inner.usable) {
    target.usable = false;
    target.reason = concat(inner.spec, ": ", inner.reason);
  }
  return target;
}

std::string checked(std::string_view text, const std::vector<Row>& rows) {
  const std::string inner = match(text, rows).inner;
  if (!inner.empty() && inner != kAuto) (void)checked(inner, rows);
  return parse_backend_spec(text).text();
}

spi::LaunchRequest request_of(const LaunchTarget& target, int ranks) {
  const LaunchHost host = this_host();
  return {.program = target.path,
          .version = target.launcher_version,
          .root = target.root,
          .ranks = ranks,
          .cores = host.cores,
          .is_root = host.is_root};
}

}  // namespace

bool LaunchTarget::is_open() const { return module != nullptr && module->nests && spec == module->name; }

std::string LaunchTarget::shown() const { return is_open() ? spec + "[:SPEC]" : spec; }

std::string accepted_specs(const std::vector<BackendInfo>& backends) { return listed(rows_of(backends)); }

std::string check_spec(std::string_view text, const std::vector<BackendInfo>& backends) {
  return checked(text, rows_of(backends));
}

LaunchTarget find_launch_target(std::string_view text, const std::vector<BackendInfo>& backends) {
  return find(text, rows_of(backends));
}

std::vector<LaunchTarget> launch_targets(const std::vector<BackendInfo>& backends) {
  const std::vector<Row> rows = rows_of(backends);
  std::vector<LaunchTarget> targets;
  for (const Row& row : rows) targets.push_back(make_target(row, rows));
  return targets;
}

std::string launcher_root(const spi::Launcher& launcher) {
  if (launcher.root_variable.empty()) return std::string(launcher.root_default);
  const std::string chosen = spi::environment(std::string(launcher.root_variable)).value_or("");
  return chosen.empty() ? std::string(launcher.root_default) : chosen;
}

std::string extract_version(std::string_view version_output) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t begin = 0; begin < version_output.size(); ++begin) {
    if (!is_digit(version_output[begin])) continue;
    std::size_t end = begin;
    while (end < version_output.size() && (is_digit(version_output[end]) || version_output[end] == '.')) ++end;
    const std::string_view number = version_output.substr(begin, end - begin);
    if (number.find('.') != std::string_view::npos && number.back() != '.') return std::string(number);
    begin = end;
  }
  return {};
}

LaunchHost this_host() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  return {.cores = known ? std::max(CPU_COUNT(&allowed), 1) : 1, .is_root = geteuid() == 0};
}

std::vector<std::string> launcher_command(const LaunchTarget& target, int ranks) {
  if (target.launcher == nullptr) return {};
  return target.launcher->command(request_of(target, ranks));
}

std::vector<spi::LaunchVariable> launcher_variables(const LaunchTarget& target, int ranks) {
  if (target.launcher == nullptr || target.launcher->variables == nullptr) return {};
  return target.launcher->variables(request_of(target, ranks));
}

void prepare_environment(const LaunchTarget& target, int ranks, ProcessEnvironment& environment) {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
                           "TUTTI_STORE", "TUTTI_JOB_SECRET", "TUTTI_JOB_SECRET_FILE"}) {
    environment.unset(name);
  }
  // A job inside a job: the inner ranks must not take over the places of the outer ranks.
  for (const BackendInfo& backend : unprobed_backends()) {
    if (backend.module == nullptr) continue;
    for (const spi::Launcher& launcher : backend.module->launchers) {
      for (const std::string_view prefix : launcher.job_prefixes) environment.unset_prefix(prefix);
    }
  }
  for (const spi::LaunchVariable& variable : launcher_variables(target, ranks)) {
    if (variable.prepends) {
      environment.prepend_path(variable.name, variable.value);
    } else {
      environment.set(variable.name, variable.value);
    }
  }
}

}  // namespace tutti::tools
