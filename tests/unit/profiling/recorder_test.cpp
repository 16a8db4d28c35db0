#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "session_program.hpp"
#include "session_test_support.hpp"

namespace tutti::profiling {
namespace {

using test::TemporaryFolder;

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
        one.bytes = choice.kind < 2 || choice.kind >= 5 ? 3 : 0;
        one.values.add(choice.value);
      }
      rows[{static_cast<Kind>(choice.kind), "call " + std::to_string(choice.name), choice.context * 8U}].add(one);
    }
  }
  return rows;
}

TEST(Recorder, TablesOfThreadsHaveExactlyWhatWasRecorded) {
  const TemporaryFolder folder;
  const auto result = run_recorded(folder, {"random", "100", "4", "5000"});
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
  const auto result = run_recorded(folder, {"random", "5", "2", "2000"}, {{"TUTTI_PROF_TIMELINE", "1"}});
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

TEST(Recorder, MoreThreadsThanAnyMachineHasCores) {
  const TemporaryFolder folder;
  const auto result = run_recorded(folder, {"random", "9", "300", "40"});
  ASSERT_EQ(result.code, 0) << result.output;
  const Profile profile = read_session(folder.path());
  EXPECT_EQ(profile.warnings, std::vector<std::string>());
  EXPECT_EQ(profile.processes.at(0).records, 12'000U);
  std::set<std::uint32_t> threads;
  for (const TallyRow& row : profile.rows) threads.insert(row.thread);
  EXPECT_EQ(threads.size(), 300U);
}

TEST(Recorder, ThreadsThatEndLeaveTheirTablesToOthers) {
  const TemporaryFolder folder;
  const auto result = run_recorded(folder, {"threads", "5000"}, {{"TUTTI_PROF_MEMORY", "1M"}});
  ASSERT_EQ(result.code, 0) << result.output;
  const Profile profile = read_session(folder.path());
  EXPECT_EQ(profile.warnings, std::vector<std::string>());
  EXPECT_EQ(calls_by_name(profile), (std::map<std::string, std::uint64_t>{{"call", 5000}}));
}

TEST(Recorder, RecordsBelongToTheInnermostRegion) {
  const TemporaryFolder folder;
  const auto result = run_recorded(folder, {"regions"});
  ASSERT_EQ(result.code, 0) << result.output;
  std::map<std::string, std::uint64_t> calls;
  for (const TallyRow& row : read_session(folder.path()).rows) calls[row.region] += row.statistics.calls;
  EXPECT_EQ(calls, (std::map<std::string, std::uint64_t>{{"", 8}, {"step", 12}, {"inner", 3}, {"deep 30", 5}}));
}

TEST(Recorder, TooManyContextsAreRoundedUpAndLoseTheirLabels) {
  const TemporaryFolder folder;
  const auto result = run_recorded(folder, {"contexts", "6000"});
  ASSERT_EQ(result.code, 0) << result.output;
  const Profile profile = read_session(folder.path());
  EXPECT_EQ(profile.warnings, std::vector<std::string>());
  EXPECT_EQ(profile.contexts.size(), 4096U + 1U);
  std::uint64_t calls = 0;
  for (const TallyRow& row : profile.rows) {
    calls += row.statistics.calls;
    const ContextRow& context = profile.contexts.at(static_cast<std::size_t>(row.context));
    EXPECT_EQ(context.ranks, 2U);
    if (context.label.empty()) {
      EXPECT_EQ(context.bytes, 8192U);
      EXPECT_EQ(row.statistics.calls, 6000U - 4096U);
    }
  }
  EXPECT_EQ(calls, 6000U);
}

TEST(Recorder, PeakOfMemoryIsThatOfTheProcess) {
  const TemporaryFolder folder;
  const auto result = run_recorded(folder, {"balance", "8"});
  ASSERT_EQ(result.code, 0) << result.output;
  const Profile profile = read_session(folder.path());
  ASSERT_EQ(profile.memory.size(), 2U);
  for (const MemoryRow& memory : profile.memory) {
    EXPECT_EQ(memory.owner, "owner");
    if (memory.device < 0) {
      EXPECT_EQ(memory.allocations, 16U);
      EXPECT_EQ(memory.releases, 8U);
      EXPECT_EQ(memory.peak_bytes, 8000U);
      EXPECT_EQ(memory.held_bytes(), 80U);
    } else {
      EXPECT_EQ(profile.devices.at(static_cast<std::size_t>(memory.device)).name, "board");
      EXPECT_EQ(memory.allocated_bytes, 40U);
      EXPECT_EQ(memory.held_bytes(), 20U);
      EXPECT_GE(memory.peak_bytes, 20U);
      EXPECT_LE(memory.peak_bytes, 40U);
    }
  }
}

TEST(Recorder, RecordsOfSignalHandlersCountOrAreDropped) {
  const TemporaryFolder folder;
  const auto result = run_recorded(folder, {"signals", "200000"});
  ASSERT_EQ(result.code, 0) << result.output;
  const Profile profile = read_session(folder.path());
  const auto handled = static_cast<std::uint64_t>(std::stoull(result.output));
  auto calls = calls_by_name(profile);
  // A handler within the making of its name gets none.
  const std::uint64_t of_handlers = calls["handler"] + calls[""];
  calls.erase("handler");
  calls.erase("");
  std::uint64_t others = 0;
  for (const auto& [name, count] : calls) others += count;
  EXPECT_EQ(others, 200'000U);
  EXPECT_EQ(of_handlers + profile.processes.at(0).dropped, handled);
}

TEST(Recorder, RanksComeFromTheLauncherOrASource) {
  const TemporaryFolder launched;
  ASSERT_EQ(run_recorded(launched, {"calls", "call", "1"}, {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}}).code, 0);
  EXPECT_EQ(read_session(launched.path()).processes.at(0).rank, 2);
  EXPECT_EQ(read_session(launched.path()).processes.at(0).size, 4);
  const TemporaryFolder told;
  ASSERT_EQ(run_recorded(told, {"rank"}, {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"TUTTI_PROF_RANKS", "3,2"}}).code, 0);
  const Profile profile = read_session(told.path());
  EXPECT_EQ(profile.processes.at(0).rank, 3);
  EXPECT_EQ(profile.processes.at(0).size, 8);
  EXPECT_EQ(profile.processes.at(0).records, 3U);
}

TEST(Recorder, RanksThatAreNotWantedLeaveNothing) {
  const TemporaryFolder folder;
  const std::map<std::string, std::string> others{{"TUTTI_PROF_RANKS", "0,5-7"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "8"}};
  ASSERT_EQ(run_recorded(folder, {"calls", "call", "1"}, others).code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  // Rank 3 is told late: its file is there, but the report leaves it out.
  ASSERT_EQ(run_recorded(folder, {"rank"}, {{"TUTTI_PROF_RANKS", "0,5-7"}}).code, 0);
  EXPECT_TRUE(read_session(folder.path()).processes.empty());
}

TEST(Recorder, SettingsOfSourcesAndMode) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_recorded(folder, {"wanted"}).output, "1 tutti+ mpi+ ze+ memory-\n");
  EXPECT_EQ(
      run_recorded(folder, {"wanted"}, {{"TUTTI_PROF_SOURCES", "memory,mpi"}, {"TUTTI_PROF_MODE", "full"}}).output,
      "2 tutti- mpi+ ze- memory+\n");
}

TEST(Recorder, StopAndStartOfTheProgram) {
  const TemporaryFolder folder;
  const auto result = run_recorded(folder, {"pauses"});
  EXPECT_EQ(result.output, "1\n0\nstarted\nfolder " + folder.path().string() + "\n");
  EXPECT_EQ(calls_by_name(read_session(folder.path()))["call"], 101U);
}

TEST(Recorder, ProgramBeginsASessionOfItsOwn) {
  const TemporaryFolder folder;
  const auto result =
      run_recorded(folder, {"pauses"}, {{"TUTTI_PROF_SESSION", ""}, {"TMPDIR", folder.path().string()}});
  const std::string begin = "0\n0\nstarted\nfolder ";
  ASSERT_TRUE(result.output.starts_with(begin)) << result.output;
  const std::filesystem::path session = result.output.substr(begin.size(), result.output.size() - begin.size() - 1);
  EXPECT_EQ(session.parent_path(), folder.path());
  EXPECT_EQ(std::filesystem::status(session).permissions(), std::filesystem::perms::owner_all);
  EXPECT_EQ(calls_by_name(read_session(session))["call"], 100U);
}

TEST(Recorder, WithoutASessionNothingIsWritten) {
  const TemporaryFolder folder;
  const auto result =
      test::run_command({TUTTI_TEST_SESSION_PROGRAM, "random", "1", "1", "10"},
                        {{"TUTTI_PROF_SESSION", ""}, {"TMPDIR", folder.path().string()}}, kSessionDeadline);
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace tutti::profiling
