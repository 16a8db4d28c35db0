#include "contestant.hpp"

#include <algorithm>
#include <utility>

#include "launch/launch_target.hpp"
#include "text/text.hpp"
#include "usage_error.hpp"

// Paths of the drivers. A library that CMake did not find has no driver.
#ifndef BENCH_DRIVER_OPENMPI
#define BENCH_DRIVER_OPENMPI ""
#endif
#ifndef BENCH_DRIVER_MPICH
#define BENCH_DRIVER_MPICH ""
#endif
#ifndef BENCH_DRIVER_INTEL
#define BENCH_DRIVER_INTEL ""
#endif
#ifndef BENCH_DRIVER_ONECCL
#define BENCH_DRIVER_ONECCL ""
#endif
#ifndef BENCH_DRIVER_LIMIT
#define BENCH_DRIVER_LIMIT ""
#endif

namespace tutti::bench {
namespace {

using tools::concat;

constexpr std::string_view kNotBuilt = "CMake did not find the library when it configured the benchmark";

Contestant tutti_processes() {
  return {.key = "native",
          .title = "tutti",
          .kind = Contestant::Kind::tutti,
          .driver = BENCH_DRIVER_TUTTI,
          .environment = {{"TUTTI_BACKEND", "native"}}};
}

Contestant tutti_allocated() {
  Contestant contestant = tutti_processes();
  contestant.key = "native-allocate";
  contestant.title = "tutti allocate";
  contestant.arguments = {"--allocate"};
  return contestant;
}

Contestant tutti_threads() {
  return {.key = "native-threads",
          .title = "tutti threads",
          .kind = Contestant::Kind::tutti,
          .start = Contestant::Start::one_process,
          .driver = BENCH_DRIVER_TUTTI,
          .arguments = {"--threads"},
          .environment = {{"TUTTI_BACKEND", "native"}}};
}

// A backend whose module was not built has no launcher.
tools::LaunchTarget find_target(const std::string& key) {
  try {
    return tools::find_launch_target(key);
  } catch (const tools::UsageError& error) {
    tools::LaunchTarget none;
    none.usable = false;
    none.reason = error.what();
    return none;
  }
}

// Settings for an Intel MPI that is not installed system-wide.
void add_settings(Contestant& contestant, const tools::LaunchTarget& intel) {
  if (intel.root.empty()) return;
  contestant.environment.insert(contestant.environment.end(), {{"I_MPI_ROOT", intel.root},
                                                               {"FI_PROVIDER_PATH", intel.root + "/lib"},
                                                               {"LD_LIBRARY_PATH", intel.root + "/lib"}});
}

Contestant mpi(const std::string& key, const std::string& title, const std::string& driver) {
  Contestant contestant{.key = key, .title = title, .start = Contestant::Start::launcher, .driver = driver};
  const tools::LaunchTarget target = find_target(key);
  if (!target.usable) {
    contestant.absent = target.reason;
  } else if (driver.empty()) {
    contestant.absent = kNotBuilt;
  }
  contestant.launcher = target.path;
  add_settings(contestant, target);
  return contestant;
}

// By default, oneCCL is started by Intel MPI and uses it as transport, which is also the fastest way on one host.
// Without that launcher, it runs without MPI.
Contestant oneccl() {
  Contestant contestant{.key = "ccl", .title = "oneCCL", .driver = BENCH_DRIVER_ONECCL};
  contestant.lacks = {Op::gather, Op::scatter, Op::message};
  if (contestant.driver.empty()) contestant.absent = kNotBuilt;
  const std::string root = BENCH_ONECCL_ROOT;
  // Host memory only, because oneCCL does not start with an old Level Zero loader.
  contestant.environment = {{"CCL_ROOT", root}, {"CCL_ZE_ENABLE", "0"}, {"LD_LIBRARY_PATH", root + "/lib"}};
  const tools::LaunchTarget intel = find_target("mpi:intel");
  if (intel.usable) {
    contestant.start = Contestant::Start::launcher;
    contestant.launcher = intel.path;
    add_settings(contestant, intel);
  } else {
    contestant.environment.insert(
        contestant.environment.end(),
        {{"CCL_ATL_TRANSPORT", "ofi"}, {"CCL_PROCESS_LAUNCHER", "none"}, {"FI_PROVIDER_PATH", root + "/lib"}});
  }
  return contestant;
}

Contestant limit(const std::string& stores) {
  Contestant contestant{.key = "limit-" + stores,
                        .title = "limit, " + stores + " stores",
                        .kind = Contestant::Kind::limit,
                        .start = Contestant::Start::one_process,
                        .driver = BENCH_DRIVER_LIMIT,
                        .arguments = {"--stores", stores, "--ranks"}};
  if (contestant.driver.empty()) contestant.absent = "CMake did not find the Highway library";
  contestant.lacks = {Op::barrier};  // moves nothing
  return contestant;
}

}  // namespace

bool Contestant::has(Op op) const noexcept { return std::ranges::find(lacks, op) == lacks.end(); }

std::vector<std::string> Contestant::launcher_command(int ranks) const {
  if (start != Start::launcher) return {};
  std::vector<std::string> command = {launcher, "-n", std::to_string(ranks)};
  if (key == "mpi-openmpi") {
    const tools::LaunchHost host = tools::this_host();
    if (ranks > host.cores) command.emplace_back("--oversubscribe");
    if (host.is_root) command.emplace_back("--allow-run-as-root");
  }
  return command;
}

std::string Contestant::shown_settings(int ranks) const {
  std::vector<std::string> words;
  for (const auto& [name, value] : environment) words.push_back(concat(name, '=', value));
  const std::vector<std::string> command = launcher_command(ranks);
  words.insert(words.end(), command.begin(), command.end());
  return tools::join(words, " ");
}

std::vector<Contestant> find_contestants() {
  return {tutti_processes(),
          tutti_allocated(),
          tutti_threads(),
          mpi("mpi-openmpi", "Open MPI", BENCH_DRIVER_OPENMPI),
          mpi("mpi-mpich", "MPICH", BENCH_DRIVER_MPICH),
          mpi("mpi-intel", "Intel MPI", BENCH_DRIVER_INTEL),
          oneccl(),
          limit("plain"),
          limit("streaming")};
}

Contestant through_tutti(const Contestant& direct) {
  Contestant contestant = direct;
  contestant.title = concat(direct.title, " through tutti");
  contestant.kind = Contestant::Kind::tutti;
  contestant.driver = BENCH_DRIVER_TUTTI;
  contestant.environment.emplace_back("TUTTI_BACKEND", direct.key);
  return contestant;
}

}  // namespace tutti::bench
