// Tensors that wait for a rank: where other processes, and the program itself, see them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "engine/stall_board.hpp"
#include "support/rank_threads.hpp"
#include "support/system/environment_variable.hpp"
#include "tutti/horovod.hpp"
#include "tutti/info/progress.hpp"
#include "tutti/tutti.hpp"

namespace tutti::horovod {
namespace {

using test::EnvironmentVariable;

CommunicatorOptions on_engine(const std::string& name) {
  CommunicatorOptions options{.name = name};
  options.config.set("TUTTI_BACKEND", "horovod:native");
  return options;
}

/// The rows of a rank on the board of this process, as `tutti ps` sees them.
CommunicatorProgress shown(const std::string& name, int rank) {
  for (const ProcessProgress& process : read_progress()) {
    if (process.pid != getpid()) continue;
    for (const CommunicatorProgress& one : process.communicators) {
      if (one.name == name && one.rank == rank && one.stage == CommunicatorStage::active) return one;
    }
  }
  return {};
}

/// Waits until the condition holds; false after a long time.
bool comes(const std::function<bool()>& is_there) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(100);
  while (!is_there()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

TEST(StallBoard, NamesRanksOfTheCommunicatorAndTheirTensors) {
  const std::vector<int> members = {4, 7, 9};
  EXPECT_EQ(describe_stall({{1, {"a"}}}, members), "rank 7 has not submitted 'a'");
  EXPECT_EQ(describe_stall({{0, {"a", "b"}}, {2, {"c", "d", "e", "f", "g", "h"}}}, members),
            "rank 4 has not submitted 'a' and 'b'; rank 9 has not submitted 'c', 'd', 'e', 'f' and 2 more");
}

TEST(StallBoard, OtherProcessesSeeARankThatNeverSubmits) {
  const EnvironmentVariable warning("HOROVOD_STALL_CHECK_TIME_SECONDS", "1");
  std::vector<Communicator> group = local_group(3, on_engine("stalled"));
  std::vector<std::vector<float>> data(3, std::vector<float>(8, 1.0F));
  const auto submit = [&](std::size_t rank) {
    return Engine(group[rank]).allreduce("late one", data[rank], data[rank], {.op = ReduceOp::sum});
  };
  const Handle first = submit(0);
  const Handle last = submit(2);
  EXPECT_TRUE(comes([] { return !shown("stalled", 0).stall.empty() && !shown("stalled", 2).stall.empty(); }));
  for (const int rank : {0, 2}) {
    EXPECT_EQ(shown("stalled", rank).stall, "rank 1 has not submitted 'late one'");
    EXPECT_EQ(shown("stalled", rank).stalled_by, 1);
  }
  EXPECT_EQ(shown("stalled", 1).stall, "");
  // The tensors meet at last, and nothing is shown any more.
  submit(1).wait();
  first.wait();
  last.wait();
  EXPECT_EQ(data[0], std::vector<float>(8, 3.0F));
  EXPECT_TRUE(comes([] { return shown("stalled", 0).stall.empty() && shown("stalled", 2).stall.empty(); }));
}

TEST(StallBoard, ProcessSetsShowTheirRanksAsThoseOfTheCommunicator) {
  const EnvironmentVariable warning("HOROVOD_STALL_CHECK_TIME_SECONDS", "1");
  test::RankOptions options;
  options.communicator = on_engine("sets");
  TUTTI_EXPECT_RANKS(
      3,
      [](const Communicator& comm) {
        const Engine engine(comm);
        const std::vector<int> ranks = {1, 2};
        const int set = engine.add_process_set(ranks);
        std::vector<float> data(4, 1.0F);
        const TensorOptions of_set{.op = ReduceOp::sum, .process_set = set};
        if (comm.rank() == 1) {
          const Handle handle = engine.allreduce("of the set", data, data, of_set);
          EXPECT_TRUE(comes([] { return shown("sets", 1).stalled_by == 2; }));
          EXPECT_EQ(shown("sets", 1).stall, "rank 2 has not submitted 'of the set'");
          comm.barrier();
          handle.wait();
          EXPECT_EQ(data, std::vector<float>(4, 2.0F));
        } else {
          comm.barrier();
          if (comm.rank() == 2) engine.allreduce("of the set", data, data, of_set).wait();
        }
      },
      options);
}

TEST(StallWork, ErrorNamesTheMissingRanksAndTensors) {
  const EnvironmentVariable warning("HOROVOD_STALL_CHECK_TIME_SECONDS", "1");
  const EnvironmentVariable shutdown("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "1");
  std::vector<Communicator> group = local_group(2, on_engine("works"));
  std::vector<float> data(8, 1.0F);
  Work work = group[0].allreduce(data, {.async = true, .label = "gradient"});
  EXPECT_TRUE(comes([&] { return work.ready(); }));
  ASSERT_TRUE(work.error());
  EXPECT_EQ(work.error()->code(), ErrorCode::timeout);
  const std::string text = work.error()->what();
  EXPECT_NE(text.find("Missing ranks:\n1!: [allreduce.gradient]"), std::string::npos) << text;
}

TEST(StallWork, ATimeoutNamesTheMissingRanksToo) {
  std::vector<Communicator> group = local_group(3, on_engine("timeouts"));
  std::vector<std::vector<float>> data(3, std::vector<float>(8, 1.0F));
  std::vector<std::thread> ranks;
  std::vector<std::string> texts(3);
  for (const std::size_t rank : {0, 2}) {
    ranks.emplace_back([&, rank] {
      try {
        group[rank].allreduce(data[rank], {.timeout = std::chrono::seconds(8), .label = "gradient"});
      } catch (const Error& error) {
        texts[rank] = error.what();
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  // One of them is first; the other one may see that the engine has ended.
  const bool is_named = texts[0].find("rank 1 has not submitted 'allreduce.gradient'") != std::string::npos ||
                        texts[2].find("rank 1 has not submitted 'allreduce.gradient'") != std::string::npos;
  EXPECT_TRUE(is_named) << texts[0] << "\n" << texts[2];
}

}  // namespace
}  // namespace tutti::horovod
