#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "report/session_reader.hpp"
#include "support/rank_threads.hpp"
#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::profiling {
namespace {

using test::CommandResult;
using test::run_command;
using test::TemporaryFolder;

CommandResult run(const TemporaryFolder& folder, const std::vector<std::string>& command,
                  const std::string& sources = "memory") {
  std::map<std::string, std::string> environment = {{"LD_PRELOAD", TUTTI_TEST_MEMORY_SOURCE},
                                                    {"TUTTI_PROF_SESSION", folder.path().string()},
                                                    {"TUTTI_PROF_SOURCES", sources}};
  return run_command(command, environment, std::chrono::seconds(60 * test::kDeadlineFactor));
}

/// Memory of an owner, all processes together.
MemoryRow memory_of(const Profile& profile, const std::string& owner) {
  MemoryRow sum;
  for (const MemoryRow& row : profile.memory) {
    if (row.owner != owner) continue;
    sum.allocations += row.allocations;
    sum.allocated_bytes += row.allocated_bytes;
    sum.releases += row.releases;
    sum.released_bytes += row.released_bytes;
    sum.peak_bytes = std::max(sum.peak_bytes, row.peak_bytes);
  }
  return sum;
}

constexpr std::uint64_t kReleasedPerRound = 100 + 100'000 + 50 + 1000 + 128 + 512 + 24;

TEST(MemorySource, CountsEveryBlockOfAProgramExactly) {
  for (const auto& [threads, rounds] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{1, 1}, {1, 3000}, {4, 2000}}) {
    const TemporaryFolder folder;
    const CommandResult result =
        run(folder, {TUTTI_TEST_MEMORY_PROGRAM, "count", std::to_string(threads), std::to_string(rounds)});
    ASSERT_EQ(result.code, 0) << result.output;
    const Profile profile = read_session(folder.path());
    ASSERT_EQ(profile.processes.size(), 1U);
    EXPECT_EQ(profile.processes[0].dropped, 0U);
    const MemoryRow own = memory_of(profile, "application");
    const std::uint64_t all = threads * rounds;
    EXPECT_EQ(own.allocations, all * 8);
    EXPECT_EQ(own.releases, all * 7);
    EXPECT_EQ(own.allocated_bytes, all * (32 + kReleasedPerRound));
    EXPECT_EQ(own.released_bytes, all * kReleasedPerRound);
    EXPECT_EQ(own.held_bytes(), all * 32);
    EXPECT_GE(own.peak_bytes, (all - 1) * 32 + 100'032);
    EXPECT_LE(own.peak_bytes, all * 32 + threads * 101'000);
  }
}

TEST(MemorySource, CallsThatFailCountNothingAndKeepErrno) {
  const TemporaryFolder folder;
  const CommandResult result = run(folder, {TUTTI_TEST_MEMORY_PROGRAM, "failures"});
  ASSERT_EQ(result.code, 0) << result.output;
  const MemoryRow own = memory_of(read_session(folder.path()), "application");
  EXPECT_EQ(own.allocations, 2U);
  EXPECT_EQ(own.releases, 2U);
  EXPECT_EQ(own.held_bytes(), 0U);
}

TEST(MemorySource, LargeAnonymousMappings) {
  const TemporaryFolder folder;
  ASSERT_EQ(run(folder, {TUTTI_TEST_MEMORY_PROGRAM, "mappings"}).code, 0);
  const MemoryRow own = memory_of(read_session(folder.path()), "application");
  EXPECT_EQ(own.allocations, 2U);
  EXPECT_EQ(own.allocated_bytes, 3U << 20);
  EXPECT_EQ(own.releases, 1U);
  EXPECT_EQ(own.held_bytes(), 2U << 20);
}

TEST(MemorySource, OwnersAreLibrariesByName) {
  const TemporaryFolder folder;
  ASSERT_EQ(run(folder, {TUTTI_TEST_MEMORY_PROGRAM, "library", TUTTI_TEST_VENDOR_LIBRARY, "100"}).code, 0);
  EXPECT_EQ(memory_of(read_session(folder.path()), "libvendor_example").held_bytes(), 4800U);

  const TemporaryFolder own_folder;
  ASSERT_EQ(run(own_folder, {TUTTI_TEST_MEMORY_PROGRAM, "library", TUTTI_TEST_OWN_LIBRARY, "7"}).code, 0);
  EXPECT_EQ(memory_of(read_session(own_folder.path()), "tutti").held_bytes(), 7U * 48);
}

TEST(MemorySource, OperatorsNewBelongToTheirCaller) {
  const TemporaryFolder folder;
  ASSERT_EQ(run(folder, {TUTTI_TEST_MEMORY_PROGRAM, "operators", "500"}).code, 0);
  const MemoryRow own = memory_of(read_session(folder.path()), "application");
  EXPECT_EQ(own.allocations, 1000U);
  EXPECT_EQ(own.allocated_bytes, 500U * 108);
  EXPECT_EQ(own.held_bytes(), 0U);
}

TEST(MemorySource, ForksWhileOtherThreadsAllocate) {
  const TemporaryFolder folder;
  const CommandResult result = run(folder, {TUTTI_TEST_MEMORY_PROGRAM, "forks", "30"});
  ASSERT_EQ(result.code, 0) << result.output;
  const Profile profile = read_session(folder.path());
  std::size_t children = 0;
  for (std::size_t i = 0; i < profile.processes.size(); ++i) {
    for (const MemoryRow& row : profile.memory) {
      // A child has made one round and nothing else.
      if (row.process != static_cast<int>(i) || row.owner != "application" || row.allocations != 8) continue;
      EXPECT_EQ(row.releases, 7U);
      EXPECT_EQ(row.allocated_bytes, 32 + kReleasedPerRound);
      ++children;
    }
  }
  EXPECT_EQ(children, 30U);
}

TEST(MemorySource, IsOffUnlessNamed) {
  const TemporaryFolder folder;
  ASSERT_EQ(run(folder, {TUTTI_TEST_MEMORY_PROGRAM, "count", "1", "10"}, "mpi").code, 0);
  Profile profile;
  try {
    profile = read_session(folder.path());
  } catch (const std::exception&) {  // NOLINT: no session is as good as an empty one
  }
  EXPECT_TRUE(profile.memory.empty());
  EXPECT_TRUE(profile.rows.empty());
}

TEST(MemorySource, ProgramsOfTheSystemBehaveAsWithoutIt) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"/bin/sh", "-c", "echo $(printf 'a\\nb\\n' | sort -r | tr '\\n' ' '); exit 3"},
           {"/bin/ls", "/nonexistent"},
           {"/usr/bin/env", "-i", "/bin/true"}}) {
    const TemporaryFolder folder;
    const CommandResult plain = run_command(command, {}, std::chrono::seconds(60 * test::kDeadlineFactor));
    const CommandResult watched = run(folder, command);
    EXPECT_EQ(watched.code, plain.code) << command.front();
    EXPECT_EQ(watched.output, plain.output) << command.front();
  }
}

}  // namespace
}  // namespace tutti::profiling
