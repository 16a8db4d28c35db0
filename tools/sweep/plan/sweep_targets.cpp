#include "sweep/plan/sweep_targets.hpp"

#include <algorithm>
#include <cctype>

#include "text/text.hpp"
#include "tutti/spi/launcher.hpp"

namespace tutti::tools {
namespace {

BackendSetup setup_of(const LaunchTarget& target, int ranks) {
  BackendSetup setup{.backend = target.spec, .version = target.version, .launcher = launcher_command(target, ranks)};
  for (const spi::LaunchVariable& variable : launcher_variables(target, ranks)) {
    setup.variables.push_back(concat(variable.name, '=', variable.value, variable.prepends ? ":..." : ""));
  }
  return setup;
}

/// All targets; those that stand on another one, on the first usable of the others.
std::vector<LaunchTarget> default_targets() {
  std::vector<LaunchTarget> targets = launch_targets();
  const auto closed = [](const LaunchTarget& target) { return !target.is_open() && target.usable; };
  const auto base = std::ranges::find_if(targets, closed);
  const std::string inner = base == targets.end() ? "" : base->spec;
  for (LaunchTarget& target : targets) {
    if (target.is_open() && !inner.empty()) target = find_launch_target(concat(target.spec, ':', inner));
  }
  std::erase_if(targets, [](const LaunchTarget& target) { return target.is_open(); });
  return targets;
}

}  // namespace

std::vector<LaunchTarget> choose_targets(const SweepOptions& options, SweepResults& results) {
  std::vector<LaunchTarget> candidates;
  if (options.backends.empty()) candidates = default_targets();
  for (const std::string& backend : options.backends) candidates.push_back(find_launch_target(backend));
  std::vector<LaunchTarget> chosen;
  for (LaunchTarget& target : candidates) {
    // "mpi" may stand for a backend that is listed too.
    if (std::ranges::find(chosen, target.spec, &LaunchTarget::spec) != chosen.end()) continue;
    if (target.usable) {
      results.backends.push_back(setup_of(target, options.ranks.front()));
      chosen.push_back(std::move(target));
    } else {
      results.unusable.push_back({target.spec, target.reason});
    }
  }
  return chosen;
}

std::string machine_line(const SweepHead& head) {
  return concat(head.cpu, ", ", head.cores, head.cores == 1 ? " core, " : " cores, ", head.kernels);
}

std::string partial_name(const SweepHead& head) {
  std::string digits;
  for (const char c : head.begun) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) digits += c;
    if (c == 'T') digits += '-';
  }
  return concat("tutti-sweep-", digits, ".json");
}

}  // namespace tutti::tools
