// The conformance suite on ranks that are processes, with every way to start them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "support/required_backends.hpp"
#include "support/system/subprocess.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

const std::string kRanks = TUTTI_TEST_RANKS_PROGRAM;
const std::string kCommand = TUTTI_TEST_COMMAND;

// The watchdogs of the ranks have the shortest deadline, because they print the current operation, then the launcher,
// then this command. The deadlines are long because MPICH spins: with 7 ranks on few cores, each message costs a time
// slice.
CommandResult tutti_run(const std::string& target, int ranks, const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {kCommand, "run", "-n",   std::to_string(ranks), "--backend", target, "--timeout",
                                      "250s",   "--",  kRanks, "--deadline",          "220"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_command(command, {{"TUTTI_MODULE_PATH", TUTTI_TEST_MODULES}}, 280s);
}

// Reason why the target cannot be used on this machine; empty when it can.
std::string objection(const std::string& target) {
  const CommandResult hello = tutti_run(target, 2, {"--hello"});
  return hello.code == 0 ? "" : "exit code " + std::to_string(hello.code) + "\n" + hello.output;
}

// Fails the test unless the command succeeded and printed `summary`. Skips it if the target cannot even run --hello.
void expect_success(const std::string& target, const CommandResult& result, const std::string& summary) {
  if (result.code != 0) {
    if (const std::string reason = objection(target); !reason.empty()) TUTTI_SKIP_OR_FAIL(target, reason);
  }
  EXPECT_EQ(result.code, 0) << (result.timed_out ? "killed at the deadline\n" : "") << result.output;
  EXPECT_NE(result.output.find(summary), std::string::npos) << "expected: " << summary << "\n" << result.output;
}

// The name that the communicators of a target have.
std::string backend_of(std::string target) {
  std::ranges::replace(target, '-', ':');
  return target;
}

struct Parameter {
  const char* target;
  int ranks;
};

void PrintTo(const Parameter& parameter, std::ostream* out) { *out << parameter.target << " " << parameter.ranks; }

class Launched : public testing::TestWithParam<Parameter> {
 protected:
  void run(const std::vector<std::string>& arguments) {
    const auto [target, ranks] = GetParam();
    expect_success(target, tutti_run(target, ranks, arguments),
                   "conformance: " + std::to_string(ranks) + " ranks on " + backend_of(target) + ",");
  }
};

// MPICH spins while it waits: with 7 ranks on two cores the full plan takes a minute. The rotated one still has every
// operation, type and reduction; the full one runs with 4 ranks.
TEST_P(Launched, EveryOperationTypeAndReduction) {
  const auto [target, ranks] = GetParam();
  run({"--plan", std::string_view(target) == "mpi-mpich" && ranks == 7 ? "rotated" : "full", "--large"});
}

TEST_P(Launched, Scenarios) { run({"--scenario", "all"}); }

// The output of the ranks decides, not the exit code: MPI cannot be finalised after a timeout, so its launcher fails.
TEST_P(Launched, Timeout) {
  const auto [target, ranks] = GetParam();
  CommandResult result = tutti_run(target, ranks, {"--scenario", "timeout"});
  const std::string verdict = "conformance: " + std::to_string(ranks) + " ranks on " + backend_of(target);
  const bool said = result.output.find(verdict) != std::string::npos;
  EXPECT_FALSE(result.timed_out) << result.output;
  if (said && backend_of(target) != "native") result.code = 0;
  expect_success(target, result, ", 0 failures");
}

std::string parameter_name(const testing::TestParamInfo<Parameter>& info) {
  std::string name = info.param.target + std::to_string(info.param.ranks);
  std::erase_if(name, [](char c) { return c == '-' || c == ':' || c == '_'; });
  return name;
}

constexpr Parameter kParameters[] = {{"native", 1},
                                     {"native", 2},
                                     {"native", 3},
                                     {"native", 4},
                                     {"native", 7},
                                     {"ccl", 1},
                                     {"ccl", 2},
                                     {"ccl", 3},
                                     {"ccl", 4},
                                     {"ccl", 7},
                                     {"mpi-openmpi", 1},
                                     {"mpi-openmpi", 2},
                                     {"mpi-openmpi", 3},
                                     {"mpi-openmpi", 4},
                                     {"mpi-openmpi", 7},
                                     {"mpi-mpich", 1},
                                     {"mpi-mpich", 2},
                                     {"mpi-mpich", 3},
                                     {"mpi-mpich", 4},
                                     {"mpi-mpich", 7},
                                     {"mpi-intel", 1},
                                     {"mpi-intel", 2},
                                     {"mpi-intel", 3},
                                     {"mpi-intel", 4},
                                     {"mpi-intel", 7},
                                     {"horovod:native", 2},
                                     {"horovod:native", 4},
                                     {"horovod:mpi-openmpi", 2},
                                     {"horovod:ccl", 2},
                                     {"fake_decorator:native", 3},
                                     {"fake_decorator:mpi:openmpi", 2},
                                     {"fake_composite", 2},
                                     {"fake_composite", 4}};
INSTANTIATE_TEST_SUITE_P(Targets, Launched, testing::ValuesIn(kParameters), parameter_name);

// auto under a launcher of MPI: native is the base, MPI is created when an operation first goes to it.
TEST(RoutedByAuto, NativeAndMpiServeOneCommunicator) {
  for (const char* target : {"mpi-openmpi", "mpi-mpich"}) {
    const std::string spec = backend_of(target);
    const std::string pins = "TUTTI_PIN=allreduce:256-=" + spec + ",broadcast:1K-=" + spec + ",allgather:64-=mpi";
    const CommandResult result = run_command({kCommand,     "run",
                                              "-n",         "2",
                                              "--backend",  target,
                                              "--timeout",  "150s",
                                              "--env",      pins,
                                              "--env",      "TUTTI_TUNING=none",
                                              "--",         kRanks,
                                              "--backend",  "auto",
                                              "--deadline", "120",
                                              "--plan",     "rotated",
                                              "--scenario", "async_in_flight",
                                              "--scenario", "wait_in_between",
                                              "--scenario", "split",
                                              "--scenario", "pairs",
                                              "--scenario", "explain"},
                                             {}, 170s);
    expect_success(target, result, "conformance: 2 ranks on auto,");
  }
}

// Many more ranks than cores.
TEST(ManyRanks, OfTheNativeEngineComputeTheSame) {
  for (const int ranks : {16, 64}) {
    expect_success("native", tutti_run("native", ranks, {"--plan", "rotated"}),
                   "conformance: " + std::to_string(ranks) + " ranks on native,");
  }
}

// TUTTI_REPRODUCIBLE must be set on all ranks or on none.
TEST(Reproducible, WantedByOneRankOnlyIsAnErrorOnAll) {
  const std::string wants = "TUTTI_REPRODUCIBLE=$((RANK == 1)) exec " + kRanks + " --hello --deadline 40";
  const CommandResult result = run_command(
      {kCommand, "run", "-n", "3", "--backend", "native", "--timeout", "50s", "--", "sh", "-c", wants}, {}, 60s);
  EXPECT_NE(result.code, 0) << result.output;
  EXPECT_FALSE(result.timed_out);
  EXPECT_NE(result.output.find("TUTTI_REPRODUCIBLE"), std::string::npos) << result.output;
}

// Tests with two ranks on each target.
class Each : public testing::TestWithParam<const char*> {};

// Counts calls into the library and allocations exactly.
TEST_P(Each, CostsTheLibrarysOwnCallsAndNoAllocation) {
  const std::string target = GetParam();
  const CommandResult result = run_command(
      {kCommand, "run", "-n", "2", "--backend", target, "--timeout", "60s", "--", TUTTI_TEST_COST_PROGRAM}, {}, 80s);
  expect_success(target, result, "cost: 2 ranks on " + backend_of(target) + ",");
}

// The progress thread carries out the asynchronous operations, the caller the blocking ones.
TEST_P(Each, AProgressThreadGetsAlongWithEveryLibrary) {
  const std::string target = GetParam();
  const CommandResult result = run_command({kCommand,     "run",
                                            "-n",         "2",
                                            "--backend",  target,
                                            "--timeout",  "90s",
                                            "--env",      "TUTTI_PROGRESS_THREAD=1",
                                            "--",         kRanks,
                                            "--deadline", "80",
                                            "--scenario", "async_in_flight",
                                            "--scenario", "wait_for",
                                            "--scenario", "two_communicators",
                                            "--scenario", "pairs"},
                                           {}, 110s);
  expect_success(target, result, "conformance: 2 ranks on " + backend_of(target) + ",");
}

INSTANTIATE_TEST_SUITE_P(Targets, Each, testing::Values("native", "ccl", "mpi-openmpi", "mpi-mpich", "mpi-intel"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::erase(name, '-');
                           return name;
                         });

// If the thread level of MPI does not allow a progress thread, the error names the required level.
class EachMpi : public testing::TestWithParam<const char*> {};

TEST_P(EachMpi, AProgressThreadNeedsAnMpiThatTakesIt) {
  const std::string target = GetParam();
  const auto result_at = [&](const std::string& level) {
    return run_command(
        {kCommand, "run", "-n", "2", "--backend", target, "--timeout", "90s", "--env", "TUTTI_PROGRESS_THREAD=1",
         "--env", "TUTTI_MPI_THREAD_LEVEL=" + level, "--", kRanks, "--deadline", "80", "--scenario", "async_in_flight"},
        {}, 110s);
  };
  expect_success(target, result_at("serialized"), "conformance: 2 ranks on " + backend_of(target) + ",");
  if (IsSkipped() || HasFatalFailure()) return;
  const CommandResult refused = result_at("funneled");
  EXPECT_NE(refused.code, 0) << refused.output;
  EXPECT_NE(refused.output.find("MPI_THREAD_SERIALIZED or more"), std::string::npos) << refused.output;
}

INSTANTIATE_TEST_SUITE_P(Targets, EachMpi, testing::Values("mpi-openmpi", "mpi-mpich", "mpi-intel"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::erase(name, '-');
                           return name;
                         });

// With TUTTI_REPRODUCIBLE, the bits depend only on the order of the ranks, not on the library.
TEST(Reproducible, BitsAreTheSameOnEveryBackend) {
  for (const int ranks : {2, 3}) {
    std::string expected;
    for (const char* target : {"native", "mpi-openmpi", "mpi-mpich", "mpi-intel", "ccl"}) {
      const CommandResult result =
          run_command({kCommand, "run", "-n", std::to_string(ranks), "--backend", target, "--timeout", "50s", "--env",
                       "TUTTI_REPRODUCIBLE=1", "--", kRanks, "--deadline", "40", "--bits"},
                      {}, 60s);
      expect_success(target, result, "bits: ");
      const std::size_t at = result.output.find("bits: ");
      if (at == std::string::npos) continue;
      const std::string bits = result.output.substr(at, result.output.find('.', at) - at);
      if (expected.empty()) expected = bits;
      EXPECT_EQ(bits, expected) << target << " with " << ranks << " ranks";
    }
  }
}

// Ranks without a launcher: environment variables give each process its rank.
class StartedByHand : public testing::TestWithParam<const char*> {};

TEST_P(StartedByHand, RanksMeet) {
  const std::string backend = GetParam();
  if (backend != "native") {
    if (const std::string reason = objection(backend); !reason.empty()) TUTTI_SKIP_OR_FAIL(backend, reason);
  }
  const int ranks = 3;
  // The port need not be free: on one host, the number is only part of the name of a Unix socket.
  const std::string port = std::to_string(20000 + getpid() % 40000);
  std::vector<Subprocess> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::map<std::string, std::string> environment = {{"RANK", std::to_string(rank)},
                                                            {"WORLD_SIZE", std::to_string(ranks)},
                                                            {"LOCAL_RANK", std::to_string(rank)},
                                                            {"MASTER_ADDR", "127.0.0.1"},
                                                            {"MASTER_PORT", port},
                                                            {"TUTTI_BACKEND", backend}};
    processes.emplace_back(std::vector<std::string>{kRanks, "--deadline", "60", "--plan", "rotated"}, environment);
  }
  const auto deadline = std::chrono::steady_clock::now() + 70s;
  for (int rank = 0; rank < ranks; ++rank) {
    Subprocess& process = processes[static_cast<std::size_t>(rank)];
    const auto status = process.wait(deadline);
    ASSERT_TRUE(status.has_value()) << "rank " << rank << " hangs\n" << process.output();
    EXPECT_EQ(status->code, 0) << "rank " << rank << "\n" << process.output();
  }
  const std::string summary = "conformance: 3 ranks on " + backend + ",";
  EXPECT_NE(processes[0].output().find(summary), std::string::npos) << processes[0].output();
}

INSTANTIATE_TEST_SUITE_P(Backends, StartedByHand, testing::Values("native", "ccl"),
                         [](const auto& row) { return std::string(row.param); });

TEST(Environment, NobodyLaunchedIsOneRank) {
  const CommandResult result = run_command({kRanks, "--deadline", "60", "--plan", "rotated"}, {}, 70s);
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("conformance: 1 ranks on native,"), std::string::npos) << result.output;
}

// The mpirun of an MPI library, without the tutti command.
struct Mpirun {
  const char* target;
  const char* backend;
};

void PrintTo(const Mpirun& parameter, std::ostream* out) { *out << parameter.target << " " << parameter.backend; }

class PlainMpirun : public testing::TestWithParam<Mpirun> {
 protected:
  // The command line up to the program, and its environment variables; empty when there is no such launcher.
  static std::vector<std::string> launcher(std::string_view target, std::map<std::string, std::string>& environment) {
    if (target == "mpi-openmpi") {
      environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
      environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
      return {"mpirun.openmpi", "--oversubscribe", "-n", "2"};
    }
    if (target == "mpi-mpich") return {"mpirun.mpich", "-n", "2"};
    const std::string root = TUTTI_TEST_INTEL_MPI_ROOT;
    if (root.empty()) return {};
    environment["I_MPI_ROOT"] = root;
    environment["FI_PROVIDER_PATH"] = root + "/lib";
    environment["PATH"] = root + "/bin:" + std::getenv("PATH");
    environment["LD_LIBRARY_PATH"] = root + "/lib";
    return {root + "/bin/mpirun", "-n", "2"};
  }
};

TEST_P(PlainMpirun, RunsTheSameProgram) {
  const std::string target = GetParam().target;
  std::map<std::string, std::string> environment = {{"TUTTI_BACKEND", GetParam().backend}};
  std::vector<std::string> command = launcher(target, environment);
  if (command.empty()) TUTTI_SKIP_OR_FAIL(target, "TUTTI_INTEL_MPI_ROOT was not set when the tests were configured");
  if (run_command({command[0], "--version"}, environment, 20s).code != 0) {
    TUTTI_SKIP_OR_FAIL(target, command[0] + " does not start");
  }
  const bool with_oneccl = std::string_view(GetParam().backend) == "ccl";
  if (with_oneccl) {
    if (const std::string reason = objection("ccl"); !reason.empty()) TUTTI_SKIP_OR_FAIL("ccl", reason);
  }
  command.insert(command.end(), {kRanks, "--deadline", "60", "--plan", "rotated"});
  const CommandResult result = run_command(command, environment, 80s);
  if (with_oneccl) {
    EXPECT_EQ(result.output.find("|CCL_"), std::string::npos) << "oneCCL printed a message\n" << result.output;
  }
  const std::string backend = GetParam().backend;
  expect_success(target, result, "conformance: 2 ranks on " + (backend == "mpi" ? backend_of(target) : backend) + ",");
}

constexpr Mpirun kMpiruns[] = {{"mpi-openmpi", "native"}, {"mpi-openmpi", "mpi"},  {"mpi-mpich", "native"},
                               {"mpi-mpich", "mpi"},      {"mpi-intel", "native"}, {"mpi-intel", "mpi"},
                               {"mpi-openmpi", "ccl"},    {"mpi-mpich", "ccl"},    {"mpi-intel", "ccl"}};
INSTANTIATE_TEST_SUITE_P(Launchers, PlainMpirun, testing::ValuesIn(kMpiruns), [](const auto& row) {
  std::string name = std::string(row.param.target) + "_" + row.param.backend;
  std::erase_if(name, [](char c) { return c == '-' || c == ':' || c == '_'; });
  return name;
});

}  // namespace
}  // namespace tutti::test
