#include "report/control.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "session_test_support.hpp"

namespace tutti::profiling {
namespace {

using test::TemporaryFolder;
using Clock = std::chrono::steady_clock;

TEST(Control, RunningProcessIsStartedAndStopped) {
  const TemporaryFolder folder;
  test::Subprocess process({TUTTI_TEST_SESSION_PROGRAM, "obey"},
                           {{"TUTTI_PROF_SESSION", folder.path().string()}, {"TUTTI_PROF_PAUSED", "1"}});
  ASSERT_TRUE(process.wait_for_output("stopped\n", Clock::now() + kSessionDeadline));
  auto states = process_states(folder.path());
  ASSERT_EQ(states.size(), 1U);
  EXPECT_EQ(states[0].pid, static_cast<std::uint32_t>(process.pid()));
  EXPECT_TRUE(states[0].running);
  EXPECT_FALSE(states[0].recording);
  EXPECT_TRUE(read_session(folder.path()).rows.empty());

  EXPECT_EQ(request_start(folder.path()), 1U);
  ASSERT_TRUE(process.wait_for_output("recording\n", Clock::now() + kSessionDeadline));
  EXPECT_TRUE(process_states(folder.path()).at(0).recording);
  // It records at once after it says so, but a machine may stop in between.
  const auto deadline = Clock::now() + kSessionDeadline;
  while (calls_by_name(read_session(folder.path()))["call"] < 3 && Clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(request_stop(folder.path()), 1U);
  ASSERT_TRUE(process.wait_for_output("recording\nstopped\n", Clock::now() + kSessionDeadline));
  const auto calls = calls_by_name(read_session(folder.path()))["call"];
  EXPECT_GE(calls, 3U);

  process.kill(SIGKILL);
  ASSERT_TRUE(process.wait(Clock::now() + kSessionDeadline));
  EXPECT_EQ(calls_by_name(read_session(folder.path()))["call"], calls);
  states = process_states(folder.path());
  ASSERT_EQ(states.size(), 1U);
  EXPECT_FALSE(states[0].running);
  EXPECT_FALSE(states[0].ended);
}

TEST(Control, ProcessesThatBeginLaterHearTheLastRequest) {
  const TemporaryFolder folder;
  EXPECT_EQ(request_stop(folder.path()), 0U);
  ASSERT_EQ(run_recorded(folder, {"calls", "unheard", "5"}).code, 0);
  EXPECT_EQ(request_start(folder.path()), 0U) << "the process has ended";
  ASSERT_EQ(run_recorded(folder, {"calls", "heard", "6"}, {{"TUTTI_PROF_PAUSED", "1"}}).code, 0);
  EXPECT_EQ(calls_by_name(read_session(folder.path())), (std::map<std::string, std::uint64_t>{{"heard", 6}}));
}

TEST(Control, ForeignFilesStayAsTheyAre) {
  const TemporaryFolder folder;
  const std::string text(10'000, 'x');
  const std::string foreign = folder.add("other.tuttiprof", text);
  EXPECT_EQ(request_stop(folder.path()), 0U);
  EXPECT_EQ(std::filesystem::file_size(foreign), text.size());
  EXPECT_TRUE(process_states(folder.path()).empty());
  EXPECT_THROW(static_cast<void>(process_states(folder.path() / "none")), std::runtime_error);
  EXPECT_THROW(request_start(folder.path() / "none"), std::runtime_error);
}

}  // namespace
}  // namespace tutti::profiling
