#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "report/session_reader.hpp"
#include "session_program.hpp"
#include "support/rank_threads.hpp"
#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::profiling {
namespace {

using test::run_command;
using test::TemporaryFolder;

/// Runs session_program in a session in this folder.
test::CommandResult run(const TemporaryFolder& folder, std::vector<std::string> arguments,
                        std::map<std::string, std::string> environment = {}) {
  arguments.insert(arguments.begin(), TUTTI_TEST_SESSION_PROGRAM);
  environment["TUTTI_PROF_SESSION"] = folder.path().string();
  return run_command(arguments, environment, std::chrono::seconds(60 * test::kDeadlineFactor));
}

using RowKey = std::tuple<Kind, std::string, std::uint64_t>;

std::map<RowKey, Statistics> expected(int seed, int threads, int records) {
  std::map<RowKey, Statistics> rows;
  for (int thread = 0; thread < threads; ++thread) {
    test::RandomRecords random(static_cast<std::uint64_t>(seed + thread));
    for (int i = 0; i < records; ++i) {
      const auto choice = random.next();
      Statistics one{.calls = 1, .values = {}};
      if (choice.failed) {
        one.errors = 1;
      } else {
        one.total = one.min = one.max = choice.value;
        one.bytes = choice.kind < 2 || choice.kind == 5 ? 3 : 0;
        one.values.add(choice.value);
      }
      rows[{static_cast<Kind>(choice.kind), "call " + std::to_string(choice.name), choice.context * 8U}].add(one);
    }
  }
  return rows;
}

TEST(Recorder, TablesOfThreadsHaveExactlyWhatWasRecorded) {
  const TemporaryFolder folder;
  const auto result = run(folder, {"random", "100", "4", "5000"});
  ASSERT_EQ(result.code, 0) << result.output;
  const Profile profile = read_session(folder.path());
  EXPECT_EQ(profile.warnings, std::vector<std::string>());
  ASSERT_EQ(profile.processes.size(), 1U);
  EXPECT_EQ(profile.processes[0].records, 20'000U);
  EXPECT_EQ(profile.processes[0].dropped, 0U);
  EXPECT_TRUE(profile.processes[0].ended);
  EXPECT_GT(profile.processes[0].cost_ns, 0);
  EXPECT_GT(profile.processes[0].resident_peak, 0U);

  std::map<RowKey, Statistics> rows;
  std::set<std::uint32_t> threads;
  for (const TallyRow& row : profile.rows) {
    EXPECT_EQ(profile.sources.at(static_cast<std::size_t>(row.source)).title, "BACKEND_TEST");
    threads.insert(row.thread);
    rows[{row.kind, row.name, profile.contexts.at(static_cast<std::size_t>(row.context)).bytes}].add(row.statistics);
  }
  EXPECT_EQ(threads.size(), 4U);
  const auto wanted = expected(100, 4, 5000);
  ASSERT_EQ(rows.size(), wanted.size());
  std::uint64_t operations = 0;
  for (const auto& [key, statistics] : wanted) {
    const Statistics& got = rows[key];
    const auto& [kind, name, bytes] = key;
    const auto where = "kind " + std::to_string(static_cast<int>(kind)) + ", " + name + ", " + std::to_string(bytes);
    EXPECT_EQ(got.calls, statistics.calls) << where;
    EXPECT_EQ(got.errors, statistics.errors) << where;
    EXPECT_EQ(got.total, statistics.total) << where;
    EXPECT_EQ(got.min, statistics.min) << where;
    EXPECT_EQ(got.max, statistics.max) << where;
    EXPECT_EQ(got.bytes, statistics.bytes) << where;
    EXPECT_EQ(got.values.quantile(0.5), statistics.values.quantile(0.5)) << where;
    if (kind == Kind::operation) operations += statistics.calls;
  }
  EXPECT_EQ(profile.events.size(), operations);
}

TEST(Recorder, TimelineHasEventsOfAllKindsInOrderOfTime) {
  const TemporaryFolder folder;
  const auto result = run(folder, {"random", "5", "2", "2000"}, {{"TUTTI_PROF_TIMELINE", "1"}});
  ASSERT_EQ(result.code, 0) << result.output;
  const Profile profile = read_session(folder.path());
  ASSERT_EQ(profile.events.size(), 4000U);
  std::uint64_t last = 0;
  std::uint64_t failed = 0;
  for (const EventRow& event : profile.events) {
    EXPECT_GE(event.begin_ns, last);
    last = event.begin_ns;
    if (event.error != 0) ++failed;
  }
  std::uint64_t wanted = 0;
  for (const auto& [key, statistics] : expected(5, 2, 2000)) wanted += statistics.errors;
  EXPECT_EQ(failed, wanted);
  EXPECT_TRUE(read_session(folder.path(), {.events = false}).events.empty());
}

TEST(Recorder, WithoutASessionNothingIsWritten) {
  const TemporaryFolder folder;
  const auto result = run_command({TUTTI_TEST_SESSION_PROGRAM, "random", "1", "1", "10"},
                                  {{"TUTTI_PROF_SESSION", ""}, {"TMPDIR", folder.path().string()}},
                                  std::chrono::seconds(60 * test::kDeadlineFactor));
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace tutti::profiling
