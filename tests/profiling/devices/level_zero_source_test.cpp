// The source of Level Zero on the real loader and the test driver, against the program's own count of its calls.
#include <sstream>

#include "profiled_run.hpp"
#include "session/owner_names.hpp"

namespace tutti::test {
namespace {

using profiling::Kind;

constexpr const char* kTitle = "BACKEND_ZE";
constexpr std::uint64_t kRounds = 20;
constexpr std::uint64_t kThreads = 2;
constexpr std::uint64_t kAll = kRounds * kThreads;
constexpr std::uint64_t kBytes = 4096;
constexpr std::uint64_t kBurst = 300;  // kernels without an event, one after the other

ProfiledRun run(const std::string& events, std::map<std::string, std::string> more = {}) {
  more.insert({{"LD_PRELOAD", TUTTI_TEST_SOURCE},
               {"ZE_ENABLE_TRACING_LAYER", "1"},
               {"ZE_ENABLE_ALT_DRIVERS", TUTTI_TEST_LEVEL_ZERO_DRIVER}});
  return {{TUTTI_TEST_PROGRAM, std::to_string(kRounds), events}, more};
}

std::map<std::string, Sum> counts_of(const std::string& output) {
  std::map<std::string, Sum> counts;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string name, calls, errors;
    std::getline(fields, name, '|');
    std::getline(fields, calls, '|');
    std::getline(fields, errors, '|');
    counts[name] = {std::stoull(calls), std::stoull(errors), 0};
  }
  return counts;
}

TEST(LevelZeroSource, CallsAreThoseThatTheProgramCounts) {
  const ProfiledRun all = run("timestamps", {{"TUTTI_PROF_MODE", "full"}});
  ASSERT_EQ(all.result.code, 0) << all.result.output;
  auto expected = counts_of(all.result.output);
  EXPECT_EQ(all.sums(Kind::host, kTitle), expected);
  EXPECT_EQ(expected["zeMemAllocDevice"].errors, kThreads);
  EXPECT_EQ(expected["zeContextMakeMemoryResident"].errors, kThreads);

  const ProfiledRun standard = run("timestamps");
  ASSERT_EQ(standard.result.code, 0) << standard.result.output;
  expected = counts_of(standard.result.output);
  EXPECT_EQ(expected.erase("zeEventQueryStatus"), 1u);
  EXPECT_EQ(standard.sums(Kind::host, kTitle), expected);
}

TEST(LevelZeroSource, MemoryTrafficAndDeviceWorkAreThoseOfTheProgram) {
  const ProfiledRun run = tutti::test::run("timestamps");
  ASSERT_EQ(run.result.code, 0) << run.result.output;
  // The copy of the list counts in each execution.
  const std::map<std::string, Sum> traffic = {
      {"zeCommandListAppendMemoryCopy(M2D)", {kAll, 0, kAll * kBytes}},
      {"zeCommandListAppendMemoryCopy(D2H)", {2 * kAll, 0, kAll * (kBytes / 2 + 1000)}},
      {"zeCommandListAppendMemoryCopy(H2S)", {kAll, 0, kAll * 10}},
      {"zeCommandListAppendMemoryFill(M2S)", {kAll, 0, kAll * 100}},
      {"zeContextMakeMemoryResident", {kThreads, 0, kThreads * kBytes}}};
  EXPECT_EQ(run.sums(Kind::traffic, kTitle), traffic);
  const std::map<std::string, Sum> memory = {{"device memory", {kThreads, 0, kThreads * kBytes}},
                                             {"shared memory", {kThreads, 0, kThreads * 2 * kBytes}},
                                             {"host memory", {kThreads, 0, kThreads * 3 * kBytes}}};
  EXPECT_EQ(run.sums(Kind::allocation, kTitle), memory);
  EXPECT_EQ(run.sums(Kind::release, kTitle), memory);

  const std::map<std::string, std::uint64_t> work = {{"zeCommandListAppendMemoryCopy(M2D)", kRounds},
                                                     {"zeCommandListAppendMemoryCopy(D2H)", 2 * kRounds},
                                                     {"zeCommandListAppendMemoryFill(M2S)", kRounds},
                                                     {"zeCommandListAppendBarrier", kRounds},
                                                     {"app::Axpy<float>", kRounds}};
  std::map<std::uint64_t, std::map<std::string, std::uint64_t>> by_sub_device;
  for (const auto& [key, calls] : run.device_calls()) by_sub_device[std::get<1>(key)][std::get<2>(key)] += calls;
  ASSERT_EQ(by_sub_device.size(), 2u);
  for (const auto& [sub_device, calls] : by_sub_device) {
    EXPECT_NE(sub_device, 0u);
    EXPECT_EQ(calls, work);
  }
  expect_plausible_intervals(run.profile, 6 * kAll);
}

using DeviceKey = std::pair<std::uint64_t, std::uint64_t>;  // device, sub-device

/// The rows of memory in use on the devices.
std::map<DeviceKey, profiling::MemoryRow> memory_in_use(const ProfiledRun& run) {
  std::map<DeviceKey, profiling::MemoryRow> found;
  for (const profiling::MemoryRow& row : run.profile.memory) {
    if (row.owner != profiling::kUsedOnDevice) continue;
    const profiling::DeviceRow& device = run.profile.devices.at(static_cast<std::size_t>(row.device));
    found[{device.device, device.sub_device}] = row;
  }
  return found;
}

TEST(LevelZeroSource, MemoryInUseOnTheDevicesIsSeenAsWell) {
  constexpr std::uint64_t kOfOthers = 5'000'000;
  constexpr std::uint64_t kOfProgram = kBytes;  // device memory of each sub-device
  for (const std::string hierarchy : {"COMPOSITE", "FLAT"}) {
    const ProfiledRun run = tutti::test::run("timestamps", {{"ZES_ENABLE_SYSMAN", "1"},
                                                            {"ZE_FLAT_DEVICE_HIERARCHY", hierarchy},
                                                            {"FAKE_LEVEL_ZERO_OTHER_USE", std::to_string(kOfOthers)}});
    ASSERT_EQ(run.result.code, 0) << run.result.output;
    const auto used = memory_in_use(run);
    EXPECT_EQ(used.size(), 2U) << hierarchy;
    for (const auto& [key, row] : used) {
      EXPECT_EQ(key.second != 0, hierarchy == "COMPOSITE");
      // At the end the program has freed its memory; earlier samples may have seen it.
      EXPECT_EQ(row.held_bytes(), kOfOthers);
      EXPECT_GE(row.peak_bytes, kOfOthers);
      EXPECT_LE(row.peak_bytes, kOfOthers + kOfProgram);
    }
  }
}

// Older drivers have handles of system management only if this variable was set when they started.
TEST(LevelZeroSource, MemoryInUseIsNotAskedForWithoutSystemManagement) {
  const ProfiledRun run = tutti::test::run("timestamps", {{"FAKE_LEVEL_ZERO_OTHER_USE", "5000000"}});
  ASSERT_EQ(run.result.code, 0) << run.result.output;
  EXPECT_TRUE(memory_in_use(run).empty());
}

TEST(LevelZeroSource, EventsWithoutTimestampsHaveNoTimesUnlessForced) {
  const ProfiledRun plain = run("plain");
  ASSERT_EQ(plain.result.code, 0) << plain.result.output;
  EXPECT_TRUE(plain.device_calls().empty());
  const ProfiledRun forced = run("plain", {{"TUTTI_PROF_DEVICE_TIMES", "1"}});
  ASSERT_EQ(forced.result.code, 0) << forced.result.output;
  // One copy of each round has no event.
  expect_plausible_intervals(forced.profile, 7 * kAll);
  EXPECT_EQ(forced.sums(Kind::traffic, kTitle), plain.sums(Kind::traffic, kTitle));
  EXPECT_EQ(forced.sums(Kind::host, kTitle), plain.sums(Kind::host, kTitle));
}

TEST(LevelZeroSource, CommandsWithoutEventHaveTimesIfForced) {
  const ProfiledRun plain = run("none");
  ASSERT_EQ(plain.result.code, 0) << plain.result.output;
  EXPECT_TRUE(plain.device_calls().empty());
  const ProfiledRun forced = run("none", {{"TUTTI_PROF_DEVICE_TIMES", "1"}});
  // The driver ends the program with another code if an event is used against its rules.
  ASSERT_EQ(forced.result.code, 0) << forced.result.output;
  EXPECT_EQ(forced.sums(Kind::traffic, kTitle), plain.sums(Kind::traffic, kTitle));
  auto counts = counts_of(forced.result.output);
  counts.erase("zeEventQueryStatus");
  EXPECT_EQ(forced.sums(Kind::host, kTitle), counts);
  // Each execution of the list is followed by another before the program waits: the second has times.
  const std::map<std::string, std::uint64_t> work = {
      {"zeCommandListAppendMemoryCopy(M2D)", kAll},    {"zeCommandListAppendMemoryCopy(D2H)", 2 * kAll},
      {"zeCommandListAppendMemoryCopy(H2S)", kAll},    {"zeCommandListAppendMemoryFill(M2S)", kAll},
      {"zeCommandListAppendBarrier", kAll + kThreads}, {"app::Axpy<float>", kAll + kThreads * kBurst}};
  std::map<std::string, std::uint64_t> seen;
  for (const auto& [key, calls] : forced.device_calls()) seen[std::get<2>(key)] += calls;
  EXPECT_EQ(seen, work);
  expect_plausible_intervals(forced.profile, 7 * kAll + kThreads * (kBurst + 1));
}

// Tutti's observer, which does not run here, would report them a second time.
TEST(LevelZeroSource, CallsOfTuttiItselfAreLeftOut) {
  const ProfiledRun run({TUTTI_TEST_TUTTI_PROGRAM}, {{"LD_PRELOAD", TUTTI_TEST_SOURCE},
                                                     {"ZE_ENABLE_TRACING_LAYER", "1"},
                                                     {"ZE_ENABLE_ALT_DRIVERS", TUTTI_TEST_LEVEL_ZERO_DRIVER},
                                                     {"TUTTI_PROF_MODE", "full"}});
  ASSERT_EQ(run.result.code, 0) << run.result.output;
  EXPECT_EQ(run.sums(Kind::host, kTitle), counts_of(run.result.output));
  EXPECT_TRUE(run.sums(Kind::allocation, kTitle).empty());
}

TEST(LevelZeroSource, MissingTracingLayerIsReported) {
  const ProfiledRun run = tutti::test::run("plain", {{"ZE_ENABLE_TRACING_LAYER", "0"}, {"TUTTI_PROF_PAUSED", "1"}});
  ASSERT_EQ(run.result.code, 0) << run.result.output;
  ASSERT_EQ(run.profile.processes.size(), 1u);
  EXPECT_NE(run.profile.processes[0].problem.find("ZE_ENABLE_TRACING_LAYER=1"), std::string::npos)
      << run.profile.processes[0].problem;
}

TEST(LevelZeroSource, ProgramsAreTheSameWhenItIsNotWanted) {
  for (const auto& [name, value] :
       {std::pair{"TUTTI_PROF_SOURCES", "mpi"}, {"TUTTI_PROF_MODE", "minimal"}, {"TUTTI_PROF_PAUSED", "1"}}) {
    const ProfiledRun run = tutti::test::run("timestamps", {{name, value}});
    ASSERT_EQ(run.result.code, 0) << run.result.output;
    EXPECT_TRUE(run.profile.rows.empty()) << name;
  }
}

}  // namespace
}  // namespace tutti::test
