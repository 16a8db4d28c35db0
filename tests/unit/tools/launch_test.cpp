#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "launch/process.hpp"
#include "machine.hpp"
#include "text/progress.hpp"

namespace tutti::tools {
namespace {

TEST(Process, ProgramsThatCannotRun) {
  const auto code_of = [](const std::string& name) {
    try {
      (void)find_program(name);
      return 0;
    } catch (const ProgramError& error) {
      return error.exit_code();
    }
  };
  EXPECT_EQ(code_of("sh"), 0);
  EXPECT_EQ(code_of("/bin/sh"), 0);
  EXPECT_EQ(code_of("no-such-program-anywhere"), 127);
  EXPECT_EQ(code_of("/no/such/program"), 127);
  EXPECT_EQ(code_of("/etc/passwd"), 126);
  EXPECT_EQ(code_of("/etc"), 126);
}

TEST(Process, OutputOfACommandWithADeadline) {
  const ProcessEnvironment environment;
  EXPECT_EQ(output_of("/bin/sh", std::vector<std::string>{"-c", "echo out; echo err >&2"}, environment, 60),
            "out\nerr\n");
  EXPECT_EQ(output_of("/bin/sh", std::vector<std::string>{"-c", "echo out; exit 1"}, environment, 60), "");
  EXPECT_EQ(output_of("/bin/sh", std::vector<std::string>{"-c", "echo out; sleep 300"}, environment, 1), "");
}

TEST(Process, TheDeadlineHoldsWhateverTheCommandAndOthersDo) {
  const ProcessEnvironment environment;
  const auto output = [&](const char* script, int seconds) {
    return output_of("/bin/sh", std::vector<std::string>{"-c", script}, environment, seconds);
  };
  EXPECT_EQ(output("exec >&- 2>&-; sleep 300", 1), "")
      << "the deadline must hold for a command that has closed its output";
  // Handled signals interrupt the waits of output_of().
  struct sigaction quiet = {};
  struct sigaction before = {};
  quiet.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGALRM, &quiet, &before), 0);
  const itimerval often = {.it_interval = {.tv_sec = 0, .tv_usec = 20'000},
                           .it_value = {.tv_sec = 0, .tv_usec = 20'000}};
  const itimerval never = {};
  ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
  EXPECT_EQ(output("echo out; sleep 0.3; echo more", 60), "out\nmore\n");
  EXPECT_EQ(output("echo out; sleep 300", 1), "");
  ASSERT_EQ(setitimer(ITIMER_REAL, &never, nullptr), 0);
  ASSERT_EQ(sigaction(SIGALRM, &before, nullptr), 0);
}

// A traced process that is killed stays until its tracer has waited for it; its parent cannot end it.
TEST(Process, WhatDoesNotEndIsNamedAfterAWhile) {
  adopt_orphans();
  const std::vector<std::string> environment = ProcessEnvironment().list();
  const pid_t held =
      spawn({.program = find_program("sleep"), .arguments = {"sleep", "300"}, .environment = environment});
  Pipe ready = make_pipe();
  const pid_t tracer = fork();
  if (tracer == 0) {
    const char answer = ptrace(PTRACE_SEIZE, held, nullptr, nullptr) == 0 ? 'y' : 'n';
    [[maybe_unused]] const ssize_t written = write(ready.write.get(), &answer, 1);
    for (;;) pause();
  }
  char answer = 0;
  ASSERT_EQ(read(ready.read.get(), &answer, 1), 1);
  const std::vector<pid_t> left = end_descendants(std::chrono::milliseconds(50));
  kill(tracer, SIGKILL);
  waitpid(tracer, nullptr, 0);
  EXPECT_TRUE(end_descendants(std::chrono::seconds(20)).empty());
  if (answer != 'y') GTEST_SKIP() << "this system does not allow ptrace between processes";
  EXPECT_EQ(left, std::vector<pid_t>{held});
}

TEST(Process, DescribesHowItEnded) {
  EXPECT_EQ(describe_end(3 << 8), "exited with code 3");
  EXPECT_EQ(exit_code_of(3 << 8), 3);
  EXPECT_EQ(exit_code_of(SIGKILL), 137);
  EXPECT_EQ(describe_end(SIGSEGV), "was ended by signal 11 (SIGSEGV, segmentation fault)");
}

TEST(Process, AChildThatHasEndedKeepsItsNumber) {
  const std::vector<std::string> environment = ProcessEnvironment().list();
  const auto start = [&](const char* script) {
    return spawn({.program = "/bin/sh", .arguments = {"sh", "-c", script}, .environment = environment});
  };
  const pid_t failing = start("exit 3");
  const pid_t crashing = start("kill -KILL $$");
  const pid_t running = start("exec sleep 300");
  const auto wait_for = [](pid_t child) {
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  };
  wait_for(failing);
  wait_for(crashing);
  EXPECT_EQ(status_of_ended(running), std::nullopt);
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(status_of_ended(failing), 3 << 8);
    EXPECT_EQ(status_of_ended(crashing), SIGKILL);
  }
  reap_orphans({failing, running});
  EXPECT_EQ(kill(-failing, 0), 0) << "the number must stay that of the child";
  EXPECT_EQ(waitpid(crashing, nullptr, WNOHANG), -1) << "it must have been waited for";
  kill(-running, SIGKILL);
  EXPECT_EQ(waitpid(failing, nullptr, 0), failing);
  EXPECT_EQ(waitpid(running, nullptr, 0), running);
}

TEST(Machine, ReadsMeminfo) {
  const std::string meminfo = "MemTotal:       24587352 kB\nMemFree: 1 kB\nMemAvailable:   23000000 kB\n";
  EXPECT_EQ(meminfo_value(meminfo, "MemAvailable"), 23000000ULL * 1024);
  EXPECT_EQ(meminfo_value(meminfo, "SwapTotal"), 0U);
  EXPECT_GT(this_machine().available_bytes, 0U);
  EXPECT_GE(this_machine().cores, 1);
}

TEST(Progress, EstimatesFromWhatIsDone) {
  EXPECT_LT(Progress::estimate(10, 0, 100), 0);
  EXPECT_DOUBLE_EQ(Progress::estimate(10, 25, 100), 30);
  EXPECT_DOUBLE_EQ(Progress::estimate(10, 100, 100), 0);
}

}  // namespace
}  // namespace tutti::tools
