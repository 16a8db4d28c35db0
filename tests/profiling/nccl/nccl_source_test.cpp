// The profile of a program that calls NCCL itself has exactly the calls that the program has counted.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>

#include "profiling/support/expected_tally.hpp"
#include "report/session_reader.hpp"
#include "support/rank_threads.hpp"
#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

using profiling::Profile;

struct Outcome {
  CommandResult program;
  Profile profile;
};

Outcome run_profiled(const std::vector<std::string>& command, const std::string& mode = "full",
                     const std::string& preloaded = TUTTI_TEST_SOURCE,
                     std::map<std::string, std::string> environment = {}) {
  const TemporaryFolder session;
  environment.insert(
      {{"LD_PRELOAD", preloaded}, {"TUTTI_PROF_MODE", mode}, {"TUTTI_PROF_SESSION", session.path().string()}});
  Outcome outcome{run_command(command, environment, std::chrono::seconds(100 * kDeadlineFactor)), {}};
  EXPECT_EQ(outcome.program.code, 0) << outcome.program.output;
  if (outcome.program.code == 0) outcome.profile = profiling::read_session(session.path());
  for (const std::string& warning : outcome.profile.warnings) ADD_FAILURE() << warning;
  return outcome;
}

TEST(NcclSource, HasEveryCallOfTheProgram) {
  for (const char* seed : {"1", "2"}) {
    const Outcome outcome = run_profiled({TUTTI_TEST_PROGRAM, seed});
    const auto expected = printed_tally(outcome.program.output);
    EXPECT_GT(expected.size(), 100U);
    EXPECT_EQ(difference(expected, recorded_tally(outcome.profile)), "");
    ASSERT_EQ(outcome.profile.communicators.size(), 2U);
    EXPECT_EQ(outcome.profile.communicators[0].key, outcome.profile.communicators[1].key);
    EXPECT_NE(outcome.profile.communicators[0].rank, outcome.profile.communicators[1].rank);
  }
}

TEST(NcclSource, MinimalModeHasOperationsOnly) {
  const Outcome outcome = run_profiled({TUTTI_TEST_PROGRAM, "3"}, "minimal");
  auto expected = printed_tally(outcome.program.output);
  std::erase_if(expected, [](const auto& row) {
    return row.first.find("|ncclComm") != std::string::npos || row.first.find("|ncclGet") != std::string::npos;
  });
  EXPECT_EQ(difference(expected, recorded_tally(outcome.profile)), "");
}

TEST(NcclSource, HasEveryFunctionOfTheHeader) {
  std::ifstream file(TUTTI_TEST_NCCL_HEADER);
  ASSERT_TRUE(file) << TUTTI_TEST_NCCL_HEADER;
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  void* source = dlopen(TUTTI_TEST_SOURCE, RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(source, nullptr) << dlerror();
  const std::regex declaration(R"((?:ncclResult_t|const char\*)\s+(nccl\w+)\s*\()");
  int functions = 0;
  for (std::sregex_iterator match(text.begin(), text.end(), declaration); match != std::sregex_iterator(); ++match) {
    ++functions;
    EXPECT_NE(dlsym(source, (*match)[1].str().c_str()), nullptr) << (*match)[1].str();
  }
  EXPECT_GE(functions, 40);
}

TEST(NcclSource, CountsACallOfTheRealLibraryOnce) {
  const std::string library = TUTTI_TEST_NCCL_LIBRARY;
  if (library.empty()) GTEST_SKIP() << "the build has found no libnccl.so.2";
  const Outcome outcome = run_profiled({TUTTI_TEST_VERSION_PROGRAM, library});
  EXPECT_NE(outcome.program.output.find("version 2"), std::string::npos) << outcome.program.output;
  const auto recorded = recorded_tally(outcome.profile);
  EXPECT_EQ(difference({{"host|BACKEND_NCCL|ncclGetVersion|", {.calls = 1}}}, recorded), "");
}

TEST(NcclProfilerPlugin, HasEveryEventOfEachVersion) {
  for (const std::string version : {"7", "6", "5", "4", "3", "2", "1"}) {
    const Outcome outcome = run_profiled({TUTTI_TEST_PLUGIN_PROGRAM, TUTTI_TEST_PLUGIN, version, "8"}, "full", "");
    const auto expected = printed_tally(outcome.program.output);
    EXPECT_GT(expected.size(), 100U);
    EXPECT_EQ(difference(expected, recorded_tally(outcome.profile)), "") << version;
    if (version < "4") continue;  // without the number of ranks there is no communicator
    ASSERT_EQ(outcome.profile.communicators.size(), 2U);
    EXPECT_EQ(outcome.profile.communicators[0].key, 4711U);
    EXPECT_EQ(outcome.profile.communicators[1].key, 4711U);
  }
}

TEST(NcclProfilerPlugin, HasTheTimesOfKernelsOnRequest) {
  for (const std::string version : {"7", "6", "5"}) {
    const Outcome outcome = run_profiled({TUTTI_TEST_PLUGIN_PROGRAM, TUTTI_TEST_PLUGIN, version, "8", "kernels"},
                                         "full", "", {{"TUTTI_PROF_DEVICE_TIMES", "1"}, {"TUTTI_PROF_TIMELINE", "1"}});
    const auto expected = printed_tally(outcome.program.output);
    EXPECT_GT(expected.size(), 100U);
    EXPECT_EQ(difference(expected, recorded_tally(outcome.profile)), "") << version;
    std::map<std::uint64_t, std::uint64_t> kernels;  // by rank's device
    for (const profiling::TallyRow& row : outcome.profile.rows) {
      if (row.kind != profiling::Kind::device) continue;
      EXPECT_EQ(row.statistics.min, 3000U);
      EXPECT_EQ(row.statistics.max, 3000U);
      kernels[outcome.profile.devices.at(static_cast<std::size_t>(row.device)).device] += row.statistics.calls;
    }
    EXPECT_EQ(kernels, (std::map<std::uint64_t, std::uint64_t>{{1, 1000}, {2, 1000}}));
    for (const profiling::EventRow& event : outcome.profile.events) {
      if (event.kind != profiling::Kind::device) continue;
      const profiling::ProcessRow& process = outcome.profile.processes.at(0);
      // In the host's clock: not 1000 s off.
      EXPECT_GT(event.end_ns + 100'000'000'000U, process.begin_ns);
      EXPECT_LT(event.end_ns, process.begin_ns + 500'000'000'000U);
    }
  }
}

}  // namespace
}  // namespace tutti::test
