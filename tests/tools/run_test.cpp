#include <gtest/gtest.h>

#include "support.hpp"
#include "support/required_backends.hpp"

namespace tutti::test {
namespace {

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// The kernel's letter for the state of a process; T is stopped, Z is a zombie.
char state_of(const std::string& pid) {
  const std::string stat = read_file("/proc/" + pid + "/stat");
  const std::size_t end = stat.rfind(')');
  return end == std::string::npos ? '?' : stat[end + 2];
}

Words shell(const std::string& ranks, const std::string& script) {
  return {"run", "-n", ranks, "--", "sh", "-c", script};
}

TEST(Run, RanksKnowWhoTheyAre) {
  const CommandResult result =
      run_tutti(shell("3", "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE ${TUTTI_STORE%%:*}"));
  EXPECT_EQ(result.code, 0) << result.output;
  for (const char* line : {"[0] 0/3 0/3 unix\n", "[1] 1/3 1/3 unix\n", "[2] 2/3 2/3 unix\n"}) {
    EXPECT_NE(result.output.find(line), std::string::npos) << result.output;
  }
}

// Programs that do not use tutti to meet, as those of torch.distributed, need an address.
TEST(Run, RanksHaveOneFreePortToMeetAt) {
  const CommandResult result = run_tutti(
      shell("2",
            "exec python3 -c \"import os, socket; a = (os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])); "
            "print(*a, socket.socket().bind(a) if os.environ['RANK'] == '0' else None)\""));
  EXPECT_EQ(result.code, 0) << result.output;
  const std::size_t first = result.output.find("[0] 127.0.0.1 ");
  ASSERT_NE(first, std::string::npos) << result.output;
  const std::string address = result.output.substr(first + 4, result.output.find('\n', first) - first - 4);
  EXPECT_NE(result.output.find("[1] " + address + "\n"), std::string::npos) << result.output;
}

TEST(Run, StreamsStayApartAndAPartialLineIsNotLost) {
  const TemporaryFolder folder;
  const std::string command = std::string(TUTTI_COMMAND) +
                              " run -n 2 -- sh -c 'echo out; echo err >&2; printf rest' >" + folder.file("out") +
                              " 2>" + folder.file("err");
  EXPECT_EQ(run_command({"sh", "-c", command}, {}, 60s).code, 0);
  const std::string out = read_file(folder.file("out"));
  const std::string err = read_file(folder.file("err"));
  for (const char* rank : {"[0] ", "[1] "}) {
    EXPECT_EQ(count(out, std::string(rank) + "out\n"), 1) << out;
    EXPECT_EQ(count(out, std::string(rank) + "rest\n"), 1) << out;
    EXPECT_EQ(count(err, std::string(rank) + "err\n"), 1) << err;
  }
}

TEST(Run, LinesAreNeverTorn) {
  // Each rank writes its lines in two halves; the output of another rank must not come between them.
  const CommandResult result =
      run_tutti(shell("4", "i=0; while [ $i -lt 200 ]; do printf aaaa; printf 'bbbb\\n'; i=$((i+1)); done"));
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(count(result.output, "] aaaabbbb\n"), 800);
  EXPECT_EQ(count(result.output, "\n"), 800);
}

TEST(Run, WithoutPrefixTheOutputIsUntouched) {
  EXPECT_EQ(run_tutti({"run", "-n", "1", "--no-prefix", "--", "printf", "a\\nb"}).output, "a\nb");
}

TEST(Run, InputGoesToRankZeroOnly) {
  const std::string command = std::string("echo hello | ") + TUTTI_COMMAND + " run -n 2 -- sh -c 'cat; echo end'";
  const CommandResult result = run_command({"sh", "-c", command}, {}, 60s);
  EXPECT_EQ(count(result.output, "[0] hello\n"), 1) << result.output;
  EXPECT_EQ(count(result.output, "[1] hello\n"), 0) << result.output;
  EXPECT_EQ(count(result.output, "[1] end\n"), 1) << result.output;
}

TEST(Run, FirstFailureEndsTheRestWithItsCode) {
  const TemporaryFolder folder;
  // Ranks 0 and 1 have a child in the background, which must end too.
  const CommandResult result = run_tutti(
      shell("3", "if [ $RANK = 2 ]; then while [ $(cat " + folder.file("pids") +
                     " 2>/dev/null | wc -l) -lt 3 ]; do sleep 0.02; done; exit 3; fi; sleep 600 & echo $! >>" +
                     folder.file("pids") + "; [ $RANK = 1 ] && echo $$ >>" + folder.file("pids") + "; wait"));
  EXPECT_EQ(result.code, 3);
  EXPECT_NE(result.output.find("rank 2 exited with code 3; the other ranks were ended"), std::string::npos)
      << result.output;
  const auto pids = wait_for_pids(folder.file("pids"), 3);
  EXPECT_EQ(pids.size(), 3U);
  EXPECT_TRUE(all_gone(pids));
}

TEST(Run, ASignalIsTheCodePlus128) {
  const CommandResult result = run_tutti(shell("2", "[ $RANK = 1 ] && kill -SEGV $$; sleep 600"));
  EXPECT_EQ(result.code, 128 + SIGSEGV);
  EXPECT_NE(result.output.find("rank 1 was ended by signal 11 (SIGSEGV, segmentation fault)"), std::string::npos)
      << result.output;
}

// If several ranks end while the command does not run, the first one must be reported, because it caused the others.
TEST(Run, OfSeveralThatHaveEndedTheFirstIsTheReason) {
  const TemporaryFolder folder;
  const std::string wait_for_go = "while [ ! -e " + folder.file("go") + " ]; do sleep 0.02; done; ";
  const std::string wait_for_last =
      "while ! grep -q '^State:.Z' /proc/$(cat " + folder.file("last") + ")/status; do sleep 0.02; done; ";
  Subprocess job(tutti(shell("3", "if [ $RANK = 2 ]; then echo $$ >" + folder.file("last") + "; fi; echo pid $$.; " +
                                      wait_for_go + "if [ $RANK = 2 ]; then exit 9; fi; " + wait_for_last + "exit 5")));
  std::vector<std::string> ranks;
  for (const char* rank : {"[0] pid ", "[1] pid ", "[2] pid "}) {
    ASSERT_TRUE(job.wait_for_output(rank, soon())) << job.output();
    const std::size_t at = job.output().find(rank) + std::string(rank).size();
    ranks.push_back(job.output().substr(at, job.output().find('.', at) - at));
  }
  const auto wait_for_state = [](const std::string& pid, char state) {
    for (const auto deadline = soon(); std::chrono::steady_clock::now() < deadline;) {
      if (state_of(pid) == state) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  };
  ::kill(job.pid(), SIGSTOP);
  ASSERT_TRUE(wait_for_state(std::to_string(job.pid()), 'T'));
  std::ofstream(folder.file("go")).close();
  for (const std::string& rank : ranks) ASSERT_TRUE(wait_for_state(rank, 'Z')) << rank;
  ::kill(job.pid(), SIGCONT);
  const auto end = job.wait(soon());
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 9) << job.output();
  EXPECT_NE(job.output().find("rank 2 exited with code 9; the other ranks were ended"), std::string::npos)
      << job.output();
}

TEST(Run, ARankThatIgnoresTheRequestIsKilled) {
  const TemporaryFolder folder;
  const std::string deaf = folder.file("deaf");
  const auto begin = std::chrono::steady_clock::now();
  const CommandResult result =
      run_tutti(shell("2", "if [ $RANK = 1 ]; then while [ ! -e " + deaf + " ]; do sleep 0.02; done; exit 5; fi; " +
                               "trap '' TERM; : >" + deaf + "; while :; do sleep 0.1; done"));
  EXPECT_EQ(result.code, 5) << result.output;
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 2s);
}

TEST(Run, ProgramsThatCannotRun) {
  const CommandResult missing = run_tutti({"run", "-n", "2", "--", "./no-such-program"});
  EXPECT_EQ(missing.code, 127);
  EXPECT_NE(missing.output.find("./no-such-program not found"), std::string::npos) << missing.output;
  EXPECT_EQ(run_tutti({"run", "-n", "2", "--", "/etc/passwd"}).code, 126);
}

TEST(Run, TimeoutEndsTheJob) {
  const CommandResult result = run_tutti({"run", "-n", "2", "--timeout", "300ms", "--", "sleep", "600"});
  EXPECT_EQ(result.code, 124);
  EXPECT_NE(result.output.find("timed out after 300ms"), std::string::npos) << result.output;
}

TEST(Run, SignalsAreForwarded) {
  Subprocess job(tutti(shell("2", "trap 'echo got it; exit 7' TERM; echo ready; while :; do sleep 0.05; done")));
  ASSERT_TRUE(job.wait_for_output("[0] ready", soon()));
  ASSERT_TRUE(job.wait_for_output("[1] ready", soon()));
  ::kill(job.pid(), SIGTERM);
  const auto end = job.wait(soon());
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 7) << job.output();
  // A rank may get the signal twice: when the first rank ends, the command asks the other again.
  EXPECT_GE(count(job.output(), "[0] got it\n"), 1) << job.output();
  EXPECT_GE(count(job.output(), "[1] got it\n"), 1) << job.output();
}

TEST(Run, SignalsThatAreMessagesDoNotEndTheJob) {
  Subprocess job(tutti(shell("2",
                             "n=0; trap 'n=$((n+1)); echo message $n' USR1; trap 'exit 0' TERM; echo ready; "
                             "while :; do sleep 0.05; done")));
  ASSERT_TRUE(job.wait_for_output("[0] ready", soon()));
  ASSERT_TRUE(job.wait_for_output("[1] ready", soon()));
  for (const char* text : {"message 1", "message 2"}) {
    ::kill(job.pid(), SIGUSR1);
    ASSERT_TRUE(job.wait_for_output(std::string("[0] ") + text, soon())) << job.output();
    ASSERT_TRUE(job.wait_for_output(std::string("[1] ") + text, soon())) << job.output();
  }
  EXPECT_TRUE(is_running(job.pid()));
  ::kill(job.pid(), SIGTERM);
  ASSERT_TRUE(job.wait(soon()));
}

TEST(Run, StoppingTheCommandStopsTheRanksAndNoTimeIsLost) {
  Words arguments = shell("2", "echo pid $$.; n=0; while :; do n=$((n+1)); echo line $n; sleep 0.05; done");
  arguments.insert(arguments.begin() + 1, {"--timeout", "8s"});
  Subprocess job(tutti(arguments));
  ASSERT_TRUE(job.wait_for_output("[0] line 3\n", soon()));
  ASSERT_TRUE(job.wait_for_output("[1] line 3\n", soon()));
  ::kill(job.pid(), SIGTSTP);
  const std::size_t at = job.output().find("[0] pid ") + 8;
  const std::string rank = job.output().substr(at, job.output().find('.', at) - at);
  // A shell whose child was stopped between fork and exec waits for it in the kernel (D).
  const auto stopped = [&] {
    return state_of(std::to_string(job.pid())) == 'T' && std::string("TD").find(state_of(rank)) != std::string::npos;
  };
  for (const auto deadline = soon(); !stopped();) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the command or rank 0 did not stop";
    std::this_thread::sleep_for(10ms);
  }
  const int lines = count(job.output(), "[0] line ");
  std::this_thread::sleep_for(8s);
  EXPECT_TRUE(stopped());
  ::kill(job.pid(), SIGCONT);
  const auto end = job.wait(soon());
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 124) << job.output();
  EXPECT_GT(count(job.output(), "[0] line "), lines + 2)
      << "the timeout counted the time in which the job was stopped\n"
      << job.output();
}

TEST(Run, AClosedInputIsAnEmptyOne) {
  const CommandResult result = run_command({"sh", "-c", tutti({})[0] + " run -n 2 -- cat <&-; echo code $?"}, {}, 30s);
  EXPECT_EQ(result.output, "code 0\n");
}

TEST(Run, ASecondInterruptKills) {
  Subprocess job(tutti(shell("2", "trap '' TERM; trap 'echo asked' INT; echo ready; while :; do sleep 0.05; done")));
  ASSERT_TRUE(job.wait_for_output("[0] ready", soon()));
  ASSERT_TRUE(job.wait_for_output("[1] ready", soon()));
  ::kill(job.pid(), SIGINT);
  // Two signals that are pending at the same time would count as one.
  ASSERT_TRUE(job.wait_for_output("[0] asked", soon()));
  ASSERT_TRUE(job.wait_for_output("[1] asked", soon()));
  EXPECT_TRUE(is_running(job.pid()));
  ::kill(job.pid(), SIGINT);
  const auto end = job.wait(soon());
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 130) << job.output();
}

TEST(Run, RanksDieWithAKilledLauncher) {
  const TemporaryFolder folder;
  Subprocess job(tutti({"run", "-n", "3", "--", "sh", "-c", "echo $$ >>" + folder.file("pids") + "; exec sleep 600"}));
  const auto pids = wait_for_pids(folder.file("pids"), 3);
  ASSERT_EQ(pids.size(), 3U);
  ::kill(job.pid(), SIGKILL);
  EXPECT_TRUE(all_gone(pids));
}

// The kernel kills the shells with the command, but not the programs that the shells run.
TEST(Run, ProgramsBehindShellsDieWithAKilledLauncher) {
  const TemporaryFolder folder;
  const std::string pids_file = folder.file("pids");
  // Of each rank: the shell, its program, a program in a session of its own, and one with an empty environment.
  Subprocess job(
      tutti(shell("2", "echo $$ >>" + pids_file + "; setsid sh -c 'echo $$ >>" + pids_file +
                           "; sleep 600; true' & env -i /bin/sh -c 'echo $$ >>" + pids_file +
                           "; sleep 600; true' & sh -c 'echo $$ >>" + pids_file + "; sleep 600; true'; true")));
  const auto pids = wait_for_pids(pids_file, 8);
  ASSERT_EQ(pids.size(), 8U);
  std::vector<pid_t> all = pids;
  for (const pid_t pid : pids) {
    for (const pid_t child : children_of(pid)) all.push_back(child);
  }
  for (const pid_t child : children_of(job.pid())) all.push_back(child);  // the guard
  ::kill(job.pid(), SIGKILL);
  EXPECT_TRUE(all_gone(all));
}

TEST(Run, ARankThatLeftBeforeAFailureIsNamed) {
  const TemporaryFolder folder;
  const std::string left = folder.file("left");
  // Rank 1 fails when rank 0 is a zombie: the command has then been told of rank 0 first.
  const CommandResult result = run_tutti(
      shell("2", "if [ $RANK = 0 ]; then echo $$ >" + left + "; exit 0; fi; while [ ! -s " + left +
                     " ] || ! grep -q '^State:.Z' /proc/$(cat " + left + ")/status; do sleep 0.02; done; exit 4"));
  EXPECT_EQ(result.code, 4);
  EXPECT_NE(result.output.find("rank 1 exited with code 4; rank 0 had exited with code 0 before\n"), std::string::npos)
      << result.output;
}

TEST(Run, WhatTheShellHadInTheBackgroundLives) {
  const TemporaryFolder folder;
  // One process is a child of the shell; the other is adopted by the command when its parent ends.
  const std::string before = "exec 3>&1 >/dev/null 2>&1; sleep 300 & echo $! > " + folder.file("pids") +
                             "; (sleep 300 & echo $! >> " + folder.file("pids") + "; sleep 0.2) & ";
  const std::string program = "setsid sleep 300 & echo $! > " + folder.file("own") + "; sleep 0.5";
  const CommandResult result = run_command(
      {"bash", "-c", before + "exec " TUTTI_COMMAND " run -n 1 -- sh -c '" + program + "' >/dev/null 2>&1"}, {}, 60s);
  EXPECT_EQ(result.code, 0) << result.output;
  const std::vector<pid_t> strangers = wait_for_pids(folder.file("pids"), 2);
  ASSERT_EQ(strangers.size(), 2U);
  for (const pid_t stranger : strangers) {
    EXPECT_TRUE(is_running(stranger));
    kill(stranger, SIGKILL);
  }
  const std::vector<pid_t> own = wait_for_pids(folder.file("own"), 1);
  ASSERT_EQ(own.size(), 1U);
  EXPECT_TRUE(all_gone(own)) << "processes that the ranks started must end with the job";
}

TEST(Run, VariablesAndBackendReachTheRanks) {
  const CommandResult result = run_tutti(
      {"run", "-n", "1", "--backend", "native", "--env", "A=b=c", "--", "sh", "-c", "echo $A $TUTTI_BACKEND"});
  EXPECT_EQ(result.output, "[0] b=c native\n");
}

class RunOnMpi : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const CommandResult probe = run_tutti({"run", "-n", "1", "--backend", GetParam(), "--", "true"});
    for (const char* absence : {"no launcher of", "unknown backend"}) {
      if (probe.output.find(absence) != std::string::npos) TUTTI_SKIP_OR_FAIL(GetParam(), probe.output);
    }
    ASSERT_EQ(probe.code, 0) << probe.output;
  }
  [[nodiscard]] Words shell(const std::string& script) const {
    return {
        "run", "-n", "2", "--backend", GetParam(), "--", "sh", "-c", "R=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; " + script};
  }
};

TEST_P(RunOnMpi, PrefixesLikeTheNativeLauncher) {
  const CommandResult result = run_tutti(shell("echo rank $R $TUTTI_BACKEND; printf rest"));
  EXPECT_EQ(result.code, 0);
  const std::string backend = GetParam();
  for (const std::string& line : {"[0] rank 0 " + backend + "\n", "[1] rank 1 " + backend + "\n",
                                  std::string("[0] rest\n"), std::string("[1] rest\n")}) {
    EXPECT_EQ(count(result.output, line), 1) << result.output;
  }
}

TEST_P(RunOnMpi, DashIsAcceptedForTheColon) {
  const std::string spec = GetParam();
  std::string alias = spec;
  std::ranges::replace(alias, ':', '-');
  EXPECT_EQ(run_tutti({"run", "-n", "1", "--backend", alias, "--", "sh", "-c", "echo $TUTTI_BACKEND"}).output,
            "[0] " + spec + "\n");
}

TEST_P(RunOnMpi, FirstFailureEndsTheRestWithItsCode) {
  const TemporaryFolder folder;
  // Rank 1 fails once both ranks have begun.
  const std::string pids_file = folder.file("pids");
  const CommandResult result =
      run_tutti(shell("echo $$ >>" + pids_file + "; if [ $R = 1 ]; then while [ $(wc -l <" + pids_file +
                      ") -lt 2 ]; do sleep 0.02; done; exit 9; fi; exec sleep 600"));
  EXPECT_EQ(result.code, 9) << result.output;
  EXPECT_NE(result.output.find("rank 1 exited with code 9; the other ranks were ended"), std::string::npos)
      << result.output;
  const auto pids = wait_for_pids(pids_file, 2);
  ASSERT_EQ(pids.size(), 2U);
  EXPECT_TRUE(all_gone(pids));
}

TEST_P(RunOnMpi, TimeoutLeavesNothing) {
  const TemporaryFolder folder;
  Words words = shell("echo $$ >>" + folder.file("pids") + "; trap '' TERM; while :; do sleep 0.1; done");
  // Long enough for the launcher to start both ranks on a busy machine.
  words.insert(words.begin() + 1, {"--timeout", "8s"});
  EXPECT_EQ(run_tutti(words).code, 124);
  const auto pids = wait_for_pids(folder.file("pids"), 2);
  ASSERT_EQ(pids.size(), 2U);
  EXPECT_TRUE(all_gone(pids));
}

TEST_P(RunOnMpi, RanksDieWithAKilledLauncher) {
  const TemporaryFolder folder;
  // The program of each rank is the child of a shell.
  Subprocess job(tutti(shell("sh -c 'echo $$ >>" + folder.file("pids") + "; sleep 600; true'; true")));
  const auto pids = wait_for_pids(folder.file("pids"), 2);
  ASSERT_EQ(pids.size(), 2U);
  std::vector<pid_t> all = pids;
  for (const pid_t pid : pids) {
    for (const pid_t child : children_of(pid)) all.push_back(child);
  }
  ::kill(job.pid(), SIGKILL);
  EXPECT_TRUE(all_gone(all));
}

INSTANTIATE_TEST_SUITE_P(Mpi, RunOnMpi, testing::Values("mpi:openmpi", "mpi:mpich", "mpi:intel"),
                         [](const auto& test) { return std::string(test.param).substr(4); });

}  // namespace
}  // namespace tutti::test
