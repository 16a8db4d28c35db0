// The profile of a program that calls oneCCL itself has exactly the calls that the program has counted.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "profiling/support/expected_tally.hpp"
#include "report/session_reader.hpp"
#include "support/rank_threads.hpp"
#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

using profiling::Profile;

constexpr int kRanks = 2;

struct Outcome {
  std::string output;
  Profile profile;
};

Outcome run_profiled(const std::string& seed, const std::string& program = TUTTI_TEST_PROGRAM) {
  const TemporaryFolder folder;
  const TemporaryFolder session;
  const std::string libraries = std::string(TUTTI_TEST_ONECCL_ROOT) + "/lib";
  std::vector<Subprocess> ranks;
  ranks.reserve(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back(
        std::vector<std::string>{program, std::to_string(rank), std::to_string(kRanks), folder.file("address"), seed},
        std::map<std::string, std::string>{{"LD_PRELOAD", TUTTI_TEST_SOURCE},
                                           {"LD_LIBRARY_PATH", libraries},
                                           {"FI_PROVIDER_PATH", libraries},
                                           {"CCL_ROOT", TUTTI_TEST_ONECCL_ROOT},
                                           {"CCL_ATL_TRANSPORT", "ofi"},
                                           {"FI_PROVIDER", "tcp"},
                                           {"CCL_PROCESS_LAUNCHER", "none"},
                                           {"CCL_LOCAL_RANK", std::to_string(rank)},
                                           {"CCL_LOCAL_SIZE", std::to_string(kRanks)},
                                           {"CCL_ZE_ENABLE", "0"},
                                           {"CCL_PLUGIN", "ONECCL_LEGACY_CPU"},
                                           {"CCL_LOG_LEVEL", "error"},
                                           {"TUTTI_PROF_SESSION", session.path().string()}});
  }
  Outcome outcome;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120 * kDeadlineFactor);
  for (Subprocess& rank : ranks) {
    const auto status = rank.wait(deadline);
    EXPECT_TRUE(status && status->code == 0) << (status ? status->code : -1) << "\n" << rank.output();
    outcome.output += rank.output();
  }
  outcome.profile = profiling::read_session(session.path());
  for (const std::string& warning : outcome.profile.warnings) ADD_FAILURE() << warning;
  return outcome;
}

TEST(CclSource, HasEveryCallOfTheProgramAndNoneOfOneCclItself) {
  const Outcome outcome = run_profiled("1");
  const auto expected = printed_tally(outcome.output);
  EXPECT_GT(expected.size(), 10U);
  EXPECT_EQ(difference(expected, recorded_tally(outcome.profile)), "");
  // One communicator with the same key on both ranks, and two that have one rank each.
  std::map<int, std::multiset<std::uint64_t>> keys;
  for (const auto& communicator : outcome.profile.communicators) keys[communicator.size].insert(communicator.key);
  ASSERT_EQ(keys[kRanks].size(), 2U);
  EXPECT_EQ(keys[kRanks].count(*keys[kRanks].begin()), 2U);
  ASSERT_EQ(keys[1].size(), 2U);
  EXPECT_EQ(keys[1].count(*keys[1].begin()), 1U);
}

TEST(CclSource, HasEveryCallOfTheCInterfaceAndNoneOfTheLibraryUnderneath) {
  if (std::string(TUTTI_TEST_C_PROGRAM).empty()) GTEST_SKIP() << "this oneCCL has no C interface";
  const Outcome outcome = run_profiled("2", TUTTI_TEST_C_PROGRAM);
  const auto expected = printed_tally(outcome.output);
  EXPECT_GT(expected.size(), 10U);
  EXPECT_EQ(difference(expected, recorded_tally(outcome.profile)), "");
  ASSERT_EQ(outcome.profile.communicators.size(), 2U);
  EXPECT_EQ(outcome.profile.communicators[0].key, outcome.profile.communicators[1].key);
}

TEST(CclSource, HasTheCallsOnSyclBuffers) {
  const TemporaryFolder session;
  const CommandResult program = run_command(
      {TUTTI_TEST_BUFFER_PROGRAM}, {{"LD_PRELOAD", TUTTI_TEST_SOURCE}, {"TUTTI_PROF_SESSION", session.path().string()}},
      std::chrono::seconds(60 * kDeadlineFactor));
  ASSERT_EQ(program.code, 0) << program.output;
  const auto expected = printed_tally(program.output);
  EXPECT_EQ(expected.size(), 200U);
  EXPECT_EQ(difference(expected, recorded_tally(profiling::read_session(session.path()))), "");
}

TEST(CclSource, HasEveryOverloadOnSyclBuffersOfTheLibrary) {
  std::ifstream file(std::string(TUTTI_TEST_ONECCL_ROOT) + "/lib/libccl.so.1", std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  ASSERT_FALSE(content.empty());
  void* source = dlopen(TUTTI_TEST_SOURCE, RTLD_LAZY | RTLD_LOCAL);
  ASSERT_NE(source, nullptr) << dlerror();
  // Names of symbols are texts in the file.
  std::set<std::string> overloads;
  for (std::size_t at = content.find("_ZN3ccl2v1"); at != std::string::npos; at = content.find("_ZN3ccl2v1", at + 1)) {
    const std::string name = content.c_str() + at;
    if (name.find("IN4sycl3_V16bufferI") != std::string::npos) overloads.insert(name);
  }
  if (overloads.empty()) GTEST_SKIP() << "this oneCCL was built without SYCL";
  for (const std::string& name : overloads) EXPECT_NE(dlsym(source, name.c_str()), nullptr) << name;
}

}  // namespace
}  // namespace tutti::test
