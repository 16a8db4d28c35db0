// When a rank process dies, the other ranks must notice.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <thread>

#include "support/system/shared_memory.hpp"
#include "support/system/subprocess.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

const std::string kRanks = TUTTI_TEST_FAULT_PROGRAM;

std::vector<Subprocess> start_ranks(int size, const std::string& how, const std::string& backend = "native") {
  static int job = 0;
  const std::string port = std::to_string(10000 + (getpid() * 7 + job++) % 50000);
  std::vector<Subprocess> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back(std::vector<std::string>{kRanks, how},
                       std::map<std::string, std::string>{{"RANK", std::to_string(rank)},
                                                          {"WORLD_SIZE", std::to_string(size)},
                                                          {"MASTER_ADDR", "127.0.0.1"},
                                                          {"MASTER_PORT", port},
                                                          {"TUTTI_BACKEND", backend}});
  }
  return ranks;
}

// Kills one of four ranks in a loop of 64 MB allreduces; `longest` is the longest time until another rank noticed.
void kill_one(int victim, Clock::duration& longest) {
  const std::set<std::string> before = shared_memory();
  std::vector<Subprocess> ranks = start_ranks(4, "loop");
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ASSERT_TRUE(ranks[rank].wait_for_output("in the middle", Clock::now() + 30s))
        << "rank " << rank << " did not finish its first operations\n"
        << ranks[rank].output();
  }
  // The kill hits some point within an operation.
  std::this_thread::sleep_for(37ms);
  const Clock::time_point killed = Clock::now();
  longest = {};
  ranks[static_cast<std::size_t>(victim)].kill(SIGKILL);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto status = ranks[rank].wait(killed + 20s);
    ASSERT_TRUE(status.has_value()) << "rank " << rank << " hangs after rank " << victim << " died";
    if (rank == static_cast<std::size_t>(victim)) {
      EXPECT_EQ(status->code, 128 + SIGKILL);
      continue;
    }
    EXPECT_EQ(status->code, 42) << "rank " << rank << ": " << ranks[rank].output();
    longest = std::max(longest, status->when - killed);
    EXPECT_NE(ranks[rank].output().find("rank " + std::to_string(victim)), std::string::npos)
        << "the error does not name rank " << victim << ": " << ranks[rank].output();
    EXPECT_NE(ranks[rank].output().find("allreduce"), std::string::npos) << ranks[rank].output();
  }
  EXPECT_EQ(left_in_shared_memory(before), std::set<std::string>()) << "these files are left in /dev/shm";
}

// A busy machine may stop the processes for a second, but not in three attempts.
void expect_noticed_within_a_second(int victim) {
  Clock::duration longest{};
  for (int attempt = 0; attempt < 3; ++attempt) {
    ASSERT_NO_FATAL_FAILURE(kill_one(victim, longest));
    if (longest < 1s) return;
  }
  ADD_FAILURE() << "the death of rank " << victim << " was noticed after "
                << std::chrono::duration<double>(longest).count() << " s in the last of 3 attempts; the limit is 1 s";
}

TEST(DeadPeer, IsAnErrorOnTheSurvivorsWithinASecond) { expect_noticed_within_a_second(2); }

TEST(DeadPeer, RankZeroIsNoExceptionToThat) { expect_noticed_within_a_second(0); }

// Rank 0 serves the store of such a job and exits as soon as it has found the error: the others must get the error,
// too.
TEST(WrongBackend, IsTheReasonOnEveryRank) {
  for (int job = 0; job < 10; ++job) {
    std::vector<Subprocess> ranks = start_ranks(4, "loop", "bogus");
    const Clock::time_point deadline = Clock::now() + 30s;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto status = ranks[rank].wait(deadline);
      ASSERT_TRUE(status.has_value()) << "rank " << rank << " hangs\n" << ranks[rank].output();
      EXPECT_EQ(status->code, 1) << ranks[rank].output();
      EXPECT_NE(ranks[rank].output().find("there is no backend 'bogus'; there are: auto, "), std::string::npos)
          << "rank " << rank << ": " << ranks[rank].output();
    }
  }
}

// Rank 0 serves the store of such a job: it must not exit before the others have read their keys.
TEST(LeavingRank, RankZeroMayEndAtOnce) {
  for (int job = 0; job < 10; ++job) {
    std::vector<Subprocess> ranks = start_ranks(4, "leave");
    const Clock::time_point deadline = Clock::now() + 30s;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto status = ranks[rank].wait(deadline);
      ASSERT_TRUE(status.has_value()) << "rank " << rank << " of job " << job << " hangs";
      ASSERT_EQ(status->code, 0) << "rank " << rank << " of job " << job << ": " << ranks[rank].output();
    }
  }
}

class Launched : public testing::TestWithParam<const char*> {};

// `tutti run` ends the whole job and names the rank that failed.
TEST_P(Launched, FailureOfOneRankEndsTheJob) {
  const std::set<std::string> before = shared_memory();
  const Clock::time_point begin = Clock::now();
  const CommandResult result = run_command(
      {TUTTI_TEST_COMMAND, "run", "-n", "3", "--backend", "native", "--timeout", "40s", "--", kRanks, GetParam()}, {},
      50s);
  EXPECT_FALSE(result.timed_out) << result.output;
  EXPECT_NE(result.code, 0) << result.output;
  if (std::string_view(GetParam()) == "exit") {
    EXPECT_EQ(result.code, 7) << result.output;
  }
  if (std::string_view(GetParam()) == "throw") {
    EXPECT_NE(result.output.find("the user's code gave up"), std::string::npos) << result.output;
  }
  EXPECT_NE(result.output.find("rank 1"), std::string::npos) << "the message does not name rank 1: " << result.output;
  EXPECT_LT(Clock::now() - begin, 35s) << "the job ended only because of --timeout";
  EXPECT_EQ(left_in_shared_memory(before), std::set<std::string>()) << "these files are left in /dev/shm";
}

INSTANTIATE_TEST_SUITE_P(Ways, Launched, testing::Values("throw", "segfault", "exit"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace tutti::test
