// The source of SYCL against a second subscriber and against the program's own count.
#include <fstream>
#include <sstream>

#include "profiled_run.hpp"
#include "support/required_backends.hpp"

namespace tutti::test {
namespace {

using profiling::Kind;

constexpr const char* kTitle = "BACKEND_UR";
constexpr std::uint64_t kRounds = 5;
constexpr std::uint64_t kThreads = 2;
constexpr std::uint64_t kBytes = 4000;  // of the program's device memory

std::map<std::string, std::string> environment(const std::string& subscribers) {
  return {{"XPTI_TRACE_ENABLE", "1"},
          {"XPTI_FRAMEWORK_DISPATCHER", TUTTI_TEST_SYCL_LIBRARIES "/libxptifw.so"},
          {"XPTI_SUBSCRIBERS", subscribers},
          {"UR_ENABLE_LAYERS", "UR_LAYER_TRACING"},
          {"LD_LIBRARY_PATH", TUTTI_TEST_SYCL_LIBRARIES},
          {"OCL_ICD_FILENAMES", TUTTI_TEST_CPU_DRIVER},
          {"ONEAPI_DEVICE_SELECTOR", "opencl:cpu"}};
}

ProfiledRun run(const std::string& kernels, const std::string& queues, std::map<std::string, std::string> more = {}) {
  more.merge(environment(TUTTI_TEST_SOURCE));
  return {{TUTTI_TEST_PROGRAM, std::to_string(kRounds), kernels, queues}, more};
}

/// Functions that the source itself calls; a second subscriber sees these calls, too.
bool is_called_by_source(const std::string& function) {
  for (const char* name : {"urDeviceGetInfo", "urDeviceGetGlobalTimestamps", "urEventGetInfo",
                           "urEventGetProfilingInfo", "urEventRetain", "urEventRelease"}) {
    if (function == name) return true;
  }
  return false;
}

std::map<std::string, Sum> read_counts(const std::string& file) {
  std::map<std::string, Sum> counts;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string name, result, count;
    std::getline(fields, name, '|');
    std::getline(fields, result, '|');
    std::getline(fields, count, '|');
    counts[name].calls += std::stoull(count);
    if (result != "0") counts[name].errors += std::stoull(count);
  }
  return counts;
}

#define SKIP_WITHOUT_DEVICES(run) \
  if ((run).result.code == 77)    \
  TUTTI_SKIP_OR_FAIL("sycl", "the CPU device has no two sub-devices: " + (run).result.output)

TEST(SyclSource, CallsAreThoseThatAnotherSubscriberCounts) {
  for (const bool is_first : {true, false}) {
    const TemporaryFolder folder;
    const std::string ours = TUTTI_TEST_SOURCE;
    const std::string theirs = TUTTI_TEST_COUNTER;
    auto variables = environment(is_first ? ours + ',' + theirs : theirs + ',' + ours);
    variables.insert({{"TUTTI_PROF_MODE", "full"}, {"TUTTI_TEST_COUNTS", folder.file("counts")}});
    const ProfiledRun run({TUTTI_TEST_PROGRAM, std::to_string(kRounds), "kernels", "profiled"}, variables);
    SKIP_WITHOUT_DEVICES(run);
    ASSERT_EQ(run.result.code, 0) << run.result.output;
    auto expected = read_counts(folder.file("counts"));
    auto recorded = run.sums(Kind::host, kTitle);
    ASSERT_FALSE(expected.empty());
    std::erase_if(expected, [](const auto& entry) { return is_called_by_source(entry.first); });
    std::erase_if(recorded, [](const auto& entry) { return is_called_by_source(entry.first); });
    EXPECT_EQ(recorded, expected) << (is_first ? "first" : "second");
    EXPECT_EQ(recorded["urUSMDeviceAlloc"].errors, 1u);
  }
}

TEST(SyclSource, MemoryTrafficAndDeviceWorkAreThoseOfTheProgram) {
  const ProfiledRun run = tutti::test::run("kernels", "profiled");
  SKIP_WITHOUT_DEVICES(run);
  ASSERT_EQ(run.result.code, 0) << run.result.output;
  const std::uint64_t rounds = kRounds * kThreads;
  const std::map<std::string, Sum> traffic = {{"urEnqueueUSMMemcpy(M2D)", {rounds, 0, rounds * kBytes}},
                                              {"urEnqueueUSMMemcpy(D2H)", {rounds, 0, rounds * kBytes}},
                                              {"urEnqueueUSMMemcpy(H2S)", {rounds, 0, rounds * 100}},
                                              {"urEnqueueUSMFill(D)", {rounds, 0, rounds * kBytes / 2}}};
  EXPECT_EQ(run.sums(Kind::traffic, kTitle), traffic);
  const std::map<std::string, Sum> allocations = {
      {"device memory", {kThreads + 1, 0, kThreads * kBytes + 4096}},  // the last is never freed
      {"shared memory", {kThreads, 0, kThreads * 2 * kBytes}},
      {"host memory", {kThreads, 0, kThreads * 3 * kBytes}}};
  EXPECT_EQ(run.sums(Kind::allocation, kTitle), allocations);
  const std::map<std::string, Sum> releases = {{"device memory", {kThreads, 0, kThreads * kBytes}},
                                               {"shared memory", {kThreads, 0, kThreads * 2 * kBytes}},
                                               {"host memory", {kThreads, 0, kThreads * 3 * kBytes}}};
  EXPECT_EQ(run.sums(Kind::release, kTitle), releases);

  // Two sub-devices of one device, with the same work.
  const auto work = run.device_calls();
  std::map<std::uint64_t, std::uint64_t> sub_devices;
  for (const auto& [key, calls] : work) {
    EXPECT_EQ(calls, kRounds) << std::get<2>(key);
    EXPECT_EQ(std::get<0>(key), std::get<0>(work.begin()->first));
    sub_devices[std::get<1>(key)] += calls;
  }
  EXPECT_EQ(sub_devices.size(), 2u);
  EXPECT_EQ(sub_devices.count(0), 0u);
  for (const auto& [sub_device, calls] : sub_devices) EXPECT_EQ(calls, 5 * kRounds) << sub_device;
  expect_plausible_intervals(run.profile, 5 * rounds);
}

TEST(SyclSource, QueuesWithoutProfilingHaveNoTimesUnlessForced) {
  const ProfiledRun plain = run("copies", "plain");
  SKIP_WITHOUT_DEVICES(plain);
  ASSERT_EQ(plain.result.code, 0) << plain.result.output;
  EXPECT_TRUE(plain.device_calls().empty());
  ASSERT_EQ(plain.profile.processes.size(), 1u);
  EXPECT_NE(plain.profile.processes[0].problem.find("enable_profiling"), std::string::npos)
      << plain.profile.processes[0].problem;

  const ProfiledRun forced = run("copies", "plain", {{"TUTTI_PROF_DEVICE_TIMES", "1"}});
  ASSERT_EQ(forced.result.code, 0) << forced.result.output;
  EXPECT_EQ(forced.sums(Kind::traffic, kTitle), plain.sums(Kind::traffic, kTitle));
  expect_plausible_intervals(forced.profile, 4 * kRounds * kThreads);
}

TEST(SyclSource, ProgramsAreTheSameWhenItIsNotWanted) {
  for (const auto& [name, value] :
       {std::pair{"TUTTI_PROF_SOURCES", "mpi"}, {"TUTTI_PROF_MODE", "minimal"}, {"TUTTI_PROF_PAUSED", "1"}}) {
    const ProfiledRun run = tutti::test::run("copies", "profiled", {{name, value}});
    SKIP_WITHOUT_DEVICES(run);
    ASSERT_EQ(run.result.code, 0) << run.result.output;
    EXPECT_EQ(run.result.output, "done\n");
    EXPECT_TRUE(run.profile.rows.empty()) << name;
  }
}

}  // namespace
}  // namespace tutti::test
