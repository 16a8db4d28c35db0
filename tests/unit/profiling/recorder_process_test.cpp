// Processes that fork, become others, end in every way, and meet limits while they are recorded.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "session_test_support.hpp"

namespace tutti::profiling {
namespace {

using test::TemporaryFolder;
using Calls = std::map<std::string, std::uint64_t>;
using Environment = std::map<std::string, std::string>;

/// Calls by name of each process, without those that recorded nothing.
std::vector<Calls> calls_of_processes(const Profile& profile) {
  std::vector<Calls> result;
  for (std::size_t process = 0; process < profile.processes.size(); ++process) {
    const Calls calls = calls_by_name(profile, static_cast<int>(process));
    if (!calls.empty()) result.push_back(calls);
  }
  std::sort(result.begin(), result.end());
  return result;
}

TEST(RecordedProcess, ChildrenWriteFilesOfTheirOwn) {
  const TemporaryFolder folder;
  const auto result = run_recorded(folder, {"fork"});
  ASSERT_EQ(result.code, 0) << result.output;
  const Profile profile = read_session(folder.path());
  EXPECT_EQ(profile.warnings, std::vector<std::string>());
  EXPECT_EQ(calls_of_processes(profile), (std::vector<Calls>{{{"child", 5}}, {{"grandchild", 7}}, {{"parent", 5}}}));
  EXPECT_EQ(profile.processes.size(), 3U) << "the child that recorded nothing has a file";
}

TEST(RecordedProcess, ChildOfASystemCallWritesAFileOfItsOwn) {
  const TemporaryFolder folder;
  const auto result = run_recorded(folder, {"clone"});
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_EQ(calls_of_processes(read_session(folder.path())), (std::vector<Calls>{{{"child", 5}}, {{"parent", 3}}}));
}

TEST(RecordedProcess, ForksWhileOtherThreadsRecord) {
  const TemporaryFolder folder;
  const auto result = run_recorded(folder, {"fork_storm", "40"});
  ASSERT_EQ(result.code, 0) << result.output;
  const Profile profile = read_session(folder.path());
  EXPECT_EQ(profile.warnings, std::vector<std::string>());
  int children = 0;
  for (const Calls& calls : calls_of_processes(profile)) children += calls == Calls{{"child", 5}} ? 1 : 0;
  EXPECT_EQ(children, 40);
}

TEST(RecordedProcess, ExecBeginsAnotherFile) {
  const TemporaryFolder folder;
  const auto result = run_recorded(folder, {"exec", TUTTI_TEST_SESSION_PROGRAM});
  ASSERT_EQ(result.code, 0) << result.output;
  const Profile profile = read_session(folder.path());
  EXPECT_EQ(calls_of_processes(profile), (std::vector<Calls>{{{"after", 6}}, {{"before", 4}}}));
  EXPECT_EQ(profile.processes.at(0).pid, profile.processes.at(1).pid);
  EXPECT_NE(profile.processes.at(0).command, profile.processes.at(1).command);
}

class EndOfProcess : public testing::TestWithParam<const char*> {};

TEST_P(EndOfProcess, KeepsEverythingAndTheExitCode) {
  const TemporaryFolder folder;
  const std::string how = GetParam();
  const auto result = run_recorded(folder, {"end", how});
  EXPECT_EQ(result.code, how == "abort" ? 128 + SIGABRT : 3) << result.output;
  const Profile profile = read_session(folder.path());
  EXPECT_EQ(profile.warnings, std::vector<std::string>());
  EXPECT_EQ(calls_by_name(profile), (Calls{{"operation", 100}}));
  EXPECT_EQ(profile.events.size(), 100U);
  EXPECT_EQ(profile.processes.at(0).ended, how == "thread" || how == "quick_exit");
}

INSTANTIATE_TEST_SUITE_P(Ways, EndOfProcess, testing::Values("_exit", "quick_exit", "abort", "thread"),
                         [](const auto& way) { return way.param[0] == '_' ? "exit_now" : std::string(way.param); });

TEST(RecordedProcess, ThatIsKilledLeavesWhatItRecorded) {
  const TemporaryFolder folder;
  test::Subprocess process({TUTTI_TEST_SESSION_PROGRAM, "end", "wait"},
                           {{"TUTTI_PROF_SESSION", folder.path().string()}});
  ASSERT_TRUE(process.wait_for_output("recorded", std::chrono::steady_clock::now() + kSessionDeadline));
  EXPECT_EQ(read_session(folder.path()).events.size(), 100U) << "while it runs";
  process.kill(SIGKILL);
  ASSERT_TRUE(process.wait(std::chrono::steady_clock::now() + kSessionDeadline));
  const Profile profile = read_session(folder.path());
  EXPECT_EQ(profile.warnings, std::vector<std::string>());
  EXPECT_EQ(calls_by_name(profile), (Calls{{"operation", 100}}));
  EXPECT_EQ(profile.events.size(), 100U);
  EXPECT_FALSE(profile.processes.at(0).ended);
}

TEST(RecordedProcess, MillionOperationsFitInTheDefaultMemory) {
  const TemporaryFolder folder;
  const auto result = run_recorded(folder, {"operations", "1000000"});
  ASSERT_EQ(result.code, 0) << result.output;
  const Profile profile = read_session(folder.path());
  EXPECT_EQ(profile.warnings, std::vector<std::string>());
  EXPECT_EQ(profile.events.size(), 1'000'000U);
  EXPECT_LE(profile.processes.at(0).file_bytes, 64U << 20);
}

TEST(RecordedProcess, TablesGoOnWhenTheMemoryForEventsIsUsedUp) {
  const TemporaryFolder folder;
  const auto result = run_recorded(folder, {"problem", "100000"}, {{"TUTTI_PROF_MEMORY", "512K"}});
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("TUTTI_PROF_MEMORY"), std::string::npos) << result.output;
  const Profile profile = read_session(folder.path());
  EXPECT_EQ(calls_by_name(profile), (Calls{{"operation", 100'000}}));
  EXPECT_EQ(profile.processes.at(0).dropped, 0U);
  EXPECT_GT(profile.events.size(), 1000U);
  EXPECT_EQ(profile.processes.at(0).dropped_events, 100'000U - profile.events.size());
  EXPECT_LE(profile.processes.at(0).file_bytes, 512U << 10);
  ASSERT_EQ(profile.warnings.size(), 1U);
  EXPECT_NE(profile.warnings[0].find("not in the timeline"), std::string::npos) << profile.warnings[0];
}

TEST(RecordedProcess, RowsWithoutRoomAreCountedAsDropped) {
  const TemporaryFolder folder;
  const auto result = run_recorded(folder, {"names", "20000"}, {{"TUTTI_PROF_MEMORY", "1M"}});
  ASSERT_EQ(result.code, 0) << result.output;
  const Profile profile = read_session(folder.path());
  EXPECT_GT(profile.processes.at(0).records, 200U);
  EXPECT_GT(profile.processes.at(0).dropped, 0U);
  EXPECT_EQ(profile.processes.at(0).records + profile.processes.at(0).dropped, 20'000U);
  EXPECT_EQ(profile.warnings.size(), 1U);
}

/// Runs a command of the shell with the program as $0 in a session in this folder.
test::CommandResult run_in_shell(const std::string& folder, const std::string& command) {
  return test::run_command({"sh", "-c", command, TUTTI_TEST_SESSION_PROGRAM}, {{"TUTTI_PROF_SESSION", folder}},
                           kSessionDeadline);
}

TEST(RecordedProcess, LimitOfFileSizeDropsRecordsAndSendsNoSignal) {
  const TemporaryFolder folder;
  const auto result = run_in_shell(folder.path().string(), "ulimit -f 1024; exec \"$0\" problem 100000");
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("ulimit -f"), std::string::npos) << result.output;
  EXPECT_EQ(calls_by_name(read_session(folder.path())), (Calls{{"operation", 100'000}}));
}

TEST(RecordedProcess, NoFileIsWrittenBelowTheLeastLimitOfFileSize) {
  const TemporaryFolder folder;
  const auto result = run_in_shell(folder.path().string(), "ulimit -f 8; exec \"$0\" problem 1000");
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("ulimit -f"), std::string::npos) << result.output;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(RecordedProcess, FullDiskDropsRecordsAndSendsNoSignal) {
  const TemporaryFolder folder;
  const std::string disk = folder.file("disk");
  const std::string command = "mkdir -m 700 '" + disk + "' && mount -t tmpfs -o size=600k,mode=0700 none '" + disk +
                              "' && touch '" + disk + "/mounted' || exit 77; \"$0\" problem 100000; code=$?; cp '" +
                              disk + "'/* '" + folder.path().string() + "'; exit $code";
  const auto result = test::run_command({"unshare", "-m", "sh", "-c", command, TUTTI_TEST_SESSION_PROGRAM},
                                        {{"TUTTI_PROF_SESSION", disk}}, kSessionDeadline);
  if (!std::filesystem::exists(folder.file("mounted"))) GTEST_SKIP() << "no mount of one's own: " << result.output;
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("is full"), std::string::npos) << result.output;
  const Profile profile = read_session(folder.path());
  EXPECT_EQ(calls_by_name(profile), (Calls{{"operation", 100'000}}));
  EXPECT_GT(profile.processes.at(0).dropped_events, 0U);
}

TEST(RecordedProcess, FolderThatIsRemovedMeanwhile) {
  const TemporaryFolder folder;
  const std::string session = folder.file("session");
  std::filesystem::create_directory(session);
  const auto result = run_recorded(folder, {"remove", "50000"}, {{"TUTTI_PROF_SESSION", session}});
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("was removed"), std::string::npos) << result.output;
  EXPECT_FALSE(std::filesystem::exists(session));
}

TEST(RecordedProcess, FoldersThatCannotBeTrustedOrUsed) {
  const TemporaryFolder folder;
  const std::string shared = folder.file("shared");
  std::filesystem::create_directory(shared);
  std::filesystem::permissions(shared, std::filesystem::perms::all);
  const std::string link = folder.file("link");
  std::filesystem::create_directory(folder.file("own"));
  std::filesystem::create_symlink(folder.file("own"), link);
  const std::string file = folder.add("file", "text");
  const std::map<std::string, std::string> problems = {
      {shared, "others can write"}, {link, "symbolic link"}, {file, "no folder"}, {folder.file("none"), "gone"}};
  for (const auto& [session, problem] : problems) {
    const auto result = run_recorded(folder, {"problem", "10"}, {{"TUTTI_PROF_SESSION", session}});
    EXPECT_EQ(result.code, 0) << session;
    EXPECT_NE(result.output.find(problem), std::string::npos) << session << ": " << result.output;
  }
  EXPECT_TRUE(std::filesystem::is_empty(shared));
  EXPECT_TRUE(std::filesystem::is_empty(folder.file("own")));
}

TEST(RecordedProcess, CProgramThatLoadsTheLibraryInAThread) {
  const TemporaryFolder folder;
  const auto result =
      test::run_command({TUTTI_TEST_C_PROGRAM, TUTTI_TEST_RECORDER},
                        {{"TUTTI_PROF_SESSION", ""}, {"TMPDIR", folder.path().string()}}, kSessionDeadline);
  ASSERT_EQ(result.code, 0) << result.output;
  ASSERT_TRUE(result.output.starts_with(folder.path().string())) << result.output;
  const Profile profile = read_session(result.output.substr(0, result.output.size() - 1));
  EXPECT_EQ(profile.processes.size(), 1U);
  EXPECT_TRUE(profile.processes.at(0).ended);
}

TEST(RecordedProcess, AllocationsAreRecordedFromWithinMalloc) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "sanitizers have a malloc of their own";
#endif
  const TemporaryFolder folder;
  const auto result = test::run_command({TUTTI_TEST_MALLOC_PROGRAM}, {{"TUTTI_PROF_SESSION", folder.path().string()}},
                                        kSessionDeadline);
  ASSERT_EQ(result.code, 0) << result.output;
  const Profile profile = read_session(folder.path());
  EXPECT_EQ(profile.warnings, std::vector<std::string>());
  EXPECT_EQ(std::to_string(calls_by_name(profile)["counted"]) + "\n", result.output);
  EXPECT_GE(calls_by_name(profile)["counted"], 16'000U);
}

TEST(RecordedProcess, FilesAreForTheirOwnerOnly) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_recorded(folder, {"calls", "call", "1"}).code, 0);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_EQ(entry.status().permissions(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write)
        << entry.path();
  }
}

}  // namespace
}  // namespace tutti::profiling
