// The profile of a program that uses tutti has exactly what an observer of the program's own has counted.
#include <gtest/gtest.h>

#include <algorithm>

#include "profiling/support/expected_tally.hpp"
#include "report/session_reader.hpp"
#include "support/rank_threads.hpp"
#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

using profiling::Kind;
using profiling::Profile;
using Environment = std::map<std::string, std::string>;

struct Outcome {
  CommandResult program;
  Profile profile;
};

Outcome run_command_profiled(const std::vector<std::string>& command, Environment environment = {}) {
  const TemporaryFolder folder;
  environment.emplace("TUTTI_OBSERVERS", "profile");
  environment.emplace("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES);
  environment.emplace("TUTTI_PROF_SESSION", folder.path().string());
  Outcome outcome{run_command(command, environment, std::chrono::seconds(80 * kDeadlineFactor)), {}};
  EXPECT_EQ(outcome.program.code, 0) << outcome.program.output;
  if (outcome.program.code == 0) outcome.profile = profiling::read_session(folder.path());
  for (const std::string& warning : outcome.profile.warnings) ADD_FAILURE() << warning;
  return outcome;
}

Outcome run_profiled(const std::string& scenario, const std::string& seed = "1", const Environment& environment = {}) {
  return run_command_profiled({TUTTI_TEST_PROGRAM, scenario, seed}, environment);
}

std::uint64_t calls_of(const Profile& profile, Kind kind) {
  std::uint64_t calls = 0;
  for (const auto& row : profile.rows) calls += row.kind == kind ? row.statistics.calls : 0;
  return calls;
}

TEST(TuttiSource, HasEveryOperationOfTheNativeEngine) {
  for (const char* seed : {"1", "2", "3"}) {
    const Outcome outcome = run_profiled("native", seed);
    EXPECT_EQ(difference(printed_tally(outcome.program.output), recorded_tally(outcome.profile)), "") << seed;
    EXPECT_GT(calls_of(outcome.profile, Kind::operation), 500U);
  }
}

TEST(TuttiSource, HasEmulatedOperationsAndTheirMemory) {
  const Outcome outcome = run_profiled("minimal", "4");
  EXPECT_EQ(difference(printed_tally(outcome.program.output), recorded_tally(outcome.profile)), "");
  EXPECT_GT(calls_of(outcome.profile, Kind::allocation), 10U);
}

TEST(TuttiSource, HasTheErrorsOfOperations) {
  const Outcome outcome = run_profiled("failures");
  EXPECT_EQ(difference(printed_tally(outcome.program.output), recorded_tally(outcome.profile)), "");
  ASSERT_EQ(outcome.profile.events.size(), 1U);
  EXPECT_NE(outcome.profile.events[0].error, 0);
  EXPECT_GE(outcome.profile.events[0].end_ns - outcome.profile.events[0].begin_ns, 100'000'000U);
}

TEST(TuttiSource, HasTrafficAndWorkOfDevices) {
  const Outcome outcome = run_profiled("devices", "5");
  EXPECT_EQ(difference(printed_tally(outcome.program.output), recorded_tally(outcome.profile, false)), "");
  EXPECT_GT(calls_of(outcome.profile, Kind::device), 30U);
  EXPECT_GT(calls_of(outcome.profile, Kind::traffic), 30U);
  // Two sub-devices of one device.
  std::set<std::uint64_t> devices;
  std::set<std::uint64_t> sub_devices;
  for (const auto& device : outcome.profile.devices) {
    devices.insert(device.device);
    sub_devices.insert(device.sub_device);
  }
  EXPECT_EQ(devices.size(), 1U);
  EXPECT_EQ(sub_devices.size(), 2U);
}

TEST(TuttiSource, WorkOfDevicesIsJoinedToItsOperation) {
  const Outcome outcome = run_profiled("devices", "5", {{"TUTTI_PROF_TIMELINE", "1"}});
  std::map<std::uint64_t, const profiling::EventRow*> operations;
  for (const auto& event : outcome.profile.events) {
    const bool is_new = event.kind != Kind::operation || operations.emplace(event.correlation, &event).second;
    EXPECT_TRUE(is_new);
  }
  std::uint64_t works = 0;
  for (const auto& event : outcome.profile.events) {
    if (event.kind != Kind::device || event.context < 0) continue;
    ++works;
    const auto operation = operations.find(event.correlation);
    ASSERT_NE(operation, operations.end());
    EXPECT_EQ(operation->second->context, event.context);
  }
  EXPECT_GT(works, 30U);
}

TEST(TuttiSource, HasTheStagesOfNamedTensorsInATimeline) {
  const Outcome outcome = run_profiled("tensors", "1", {{"TUTTI_PROF_TIMELINE", "1"}});
  std::map<std::string, std::multiset<std::string>> stages;  // by tensor
  for (const auto& event : outcome.profile.events) {
    if (event.kind != Kind::stage) continue;
    ASSERT_GE(event.context, 0);
    const auto& context = outcome.profile.contexts[static_cast<std::size_t>(event.context)];
    EXPECT_EQ(context.operation, "allreduce");
    EXPECT_EQ(context.backend, "native");
    EXPECT_LE(event.begin_ns, event.end_ns);
    stages[context.label].insert(outcome.profile.names[event.name]);
  }
  for (const char* tensor : {"layer \"1\"", "layer 2"}) {
    // Three steps on two ranks.
    for (const char* stage : {"QUEUE", "NEGOTIATE_ALLREDUCE", "ALLREDUCE", "NATIVE_ALLREDUCE"})
      EXPECT_EQ(stages[tensor].count(stage), 6U) << tensor << ": " << stage;
  }
  EXPECT_EQ(stages.size(), 2U);
  // Without a timeline they would only take memory.
  EXPECT_EQ(calls_of(run_profiled("tensors").profile, Kind::stage), 0U);
}

TEST(TuttiSource, CommunicatorsAndNumbersAreEqualOnAllRanks) {
  const Outcome outcome = run_profiled("native", "6");
  // Rank by key: the world of three ranks, and the halves of two and one.
  std::map<std::uint64_t, std::set<int>> ranks;
  for (const auto& row : outcome.profile.communicators) {
    EXPECT_TRUE(ranks[row.key].insert(row.rank).second) << "a rank is there twice";
    EXPECT_NE(row.key, 0U);
  }
  std::multiset<std::size_t> sizes;
  for (const auto& [key, members] : ranks) sizes.insert(members.size());
  EXPECT_EQ(sizes, (std::multiset<std::size_t>{1, 2, 3}));
  // Every collective of a communicator has the same number on all of its ranks, and other ones have others.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::pair<std::string, std::set<int>>> collectives;
  for (const auto& event : outcome.profile.events) {
    if (event.sequence == 0) continue;
    ASSERT_GE(event.communicator, 0);
    const auto& communicator = outcome.profile.communicators[static_cast<std::size_t>(event.communicator)];
    auto& [name, members] = collectives[{communicator.key, event.sequence}];
    if (name.empty()) name = outcome.profile.names[event.name];
    EXPECT_EQ(name, outcome.profile.names[event.name]) << "number " << event.sequence;
    EXPECT_TRUE(members.insert(communicator.rank).second);
  }
  EXPECT_GT(collectives.size(), 200U);
  for (const auto& [key, collective] : collectives)
    EXPECT_EQ(collective.second.size(), ranks[key.first].size()) << collective.first << " #" << key.second;
}

TEST(TuttiSource, IsLeftOutIfTheSessionDoesNotWantIt) {
  const TemporaryFolder folder;
  const CommandResult program = run_command({TUTTI_TEST_PROGRAM, "minimal", "4"},
                                            {{"TUTTI_OBSERVERS", "profile"},
                                             {"TUTTI_MODULE_PATH", TUTTI_TEST_MODULES},
                                             {"TUTTI_PROF_SESSION", folder.path().string()},
                                             {"TUTTI_PROF_SOURCES", "mpi"}},
                                            std::chrono::seconds(80 * kDeadlineFactor));
  EXPECT_EQ(program.code, 0) << program.output;
  // A process without records makes no file.
  EXPECT_THROW((void)profiling::read_session(folder.path()), std::runtime_error);
}

TEST(TuttiSource, HasTheCallsIntoMpiOfEveryRank) {
  if (std::string(TUTTI_TEST_HAS_OPENMPI) != "1") GTEST_SKIP() << "the build has no module for Open MPI";
  const Outcome outcome = run_command_profiled(
      {TUTTI_TEST_COMMAND, "run", "-n", "2", "--backend", "mpi:openmpi", "--", TUTTI_TEST_PROGRAM, "world", "7"});
  auto expected = printed_tally(outcome.program.output);
  auto recorded = recorded_tally(outcome.profile);
  // Calls that only ask are left out in the standard mode.
  std::erase_if(expected, [](const auto& row) { return row.first.find("Query") != std::string::npos; });
  EXPECT_EQ(difference(expected, recorded), "");
  EXPECT_GT(calls_of(outcome.profile, Kind::host), 100U);
  std::set<int> ranks;
  for (const auto& process : outcome.profile.processes) ranks.insert(process.rank);
  EXPECT_TRUE(ranks.contains(0) && ranks.contains(1));
}

// The source of oneCCL is there too, and leaves tutti's calls to the observer.
TEST(TuttiSource, CountsItsCallsOfOneCclOnce) {
  if (std::string(TUTTI_TEST_CCL_SOURCE).empty()) GTEST_SKIP() << "the build has no module for oneCCL";
  const Outcome outcome =
      run_command_profiled({TUTTI_TEST_COMMAND, "run", "-n", "2", "--backend", "ccl", "--", "env",
                            std::string("LD_PRELOAD=") + TUTTI_TEST_CCL_SOURCE, TUTTI_TEST_PROGRAM, "world", "9"},
                           {{"TUTTI_PROF_MODE", "full"}});
  EXPECT_EQ(difference(printed_tally(outcome.program.output), recorded_tally(outcome.profile)), "");
  EXPECT_GT(calls_of(outcome.profile, Kind::host), 100U);
}

}  // namespace
}  // namespace tutti::test
