// TUTTI_PROGRESS_THREAD: asynchronous collectives progress without the caller.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "support/observers/recording_observer.hpp"
#include "support/rank_threads.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr int kRanks = 3;
constexpr std::size_t kCount = 100'003;  // long enough to need several rounds of the engine

RankOptions with_thread() {
  RankOptions options;
  options.communicator.config.set("TUTTI_PROGRESS_THREAD", "1");
  return options;
}

void expect_all(const std::vector<float>& values, float expected) {
  for (const float value : values) ASSERT_EQ(value, expected);
}

// The test does not touch the Work; only the observer, which drives no progress, sees the end of the operation.
TEST(ProgressThread, AnOperationEndsWithoutItsCaller) {
  RecordingObserver records;
  std::vector<std::vector<float>> data(kRanks, std::vector<float>(kCount, 1.0F));
  TUTTI_EXPECT_RANKS(
      kRanks,
      [&](const Communicator& comm) {
        Work work = comm.allreduce(data[static_cast<std::size_t>(comm.rank())], {.async = true});
        const auto deadline = std::chrono::steady_clock::now() + 30s * kDeadlineFactor;
        while (records.completed().size() < kRanks && std::chrono::steady_clock::now() < deadline) {
          std::this_thread::sleep_for(1ms);
        }
        EXPECT_EQ(records.completed().size(), static_cast<std::size_t>(kRanks));
        work.wait();
      },
      with_thread());
  for (const auto& values : data) expect_all(values, kRanks);
}

TEST(ProgressThread, KeepsTheOrderOfCalls) {
  TUTTI_EXPECT_RANKS(
      kRanks,
      [](const Communicator& comm) {
        std::vector<float> data(kCount, 1.0F);
        std::vector<Work> works;
        // In place, so that each operation needs the result of the one before.
        for (int i = 0; i < 4; ++i) works.push_back(comm.allreduce(data, {.async = true}));
        comm.allreduce(data);
        expect_all(data, 243.0F);
        for (Work& work : works) EXPECT_TRUE(work.ready());
      },
      with_thread());
}

// If one thread carried out the messages one after the other, they would wait for each other.
TEST(ProgressThread, MessagesCross) {
  TUTTI_EXPECT_RANKS(
      2,
      [](const Communicator& comm) {
        const int peer = 1 - comm.rank();
        std::vector<float> sum(kCount, 1.0F);
        std::vector<float> in(kCount);
        const std::vector<float> out(kCount, static_cast<float>(comm.rank()));
        // Rank 1 completes its messages before it enters the sum that is pending on rank 0.
        Work reducing;
        if (comm.rank() == 0) reducing = comm.allreduce(sum, {.async = true});
        Work receiving = comm.recv(in, peer, {.async = true});
        Work sending = comm.send(out, peer, {.async = true});
        sending.wait();
        receiving.wait();
        if (comm.rank() == 1) reducing = comm.allreduce(sum, {.async = true});
        Work gathering = comm.broadcast(sum, 0, {.async = true});
        gathering.wait();
        reducing.wait();
        expect_all(in, static_cast<float>(peer));
        expect_all(sum, 2.0F);
      },
      with_thread());
}

TEST(ProgressThread, TwoCommunicatorsDoNotWaitForEachOther) {
  TUTTI_EXPECT_RANKS(
      2,
      [](const Communicator& comm) {
        const Communicator other = comm.duplicate("other");
        std::vector<float> first(kCount, 1.0F);
        std::vector<float> second(kCount, 1.0F);
        // The two ranks call the operations in opposite order.
        const bool even = comm.rank() == 0;
        Work one = even ? comm.allreduce(first, {.async = true}) : other.allreduce(second, {.async = true});
        Work two = even ? other.allreduce(second, {.async = true}) : comm.allreduce(first, {.async = true});
        one.wait();
        two.wait();
        expect_all(first, 2.0F);
        expect_all(second, 2.0F);
      },
      with_thread());
}

TEST(ProgressThread, AnAbortReachesWhatIsUnderWay) {
  std::atomic<bool> is_under_way = false;
  TUTTI_EXPECT_RANKS(
      2,
      [&](const Communicator& comm) {
        std::vector<float> data(kCount, 1.0F);
        if (comm.rank() == 1) {
          is_under_way.wait(false);
          std::this_thread::sleep_for(20ms);  // usually the progress thread waits for this rank by then
          comm.abort();
          return;
        }
        Work work = comm.allreduce(data, {.async = true});
        is_under_way = true;
        is_under_way.notify_one();
        try {
          work.wait();
          ADD_FAILURE() << "the operation completed although rank 1 did not call it";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::aborted) << error.what();
        }
      },
      with_thread());
}

/// /proc status of each thread of this process with this name.
std::vector<std::string> statuses_of_threads(const std::string& name) {
  std::vector<std::string> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ostringstream text;
    text << std::ifstream(task.path() / "status").rdbuf();
    if (text.str().starts_with("Name:\t" + name + "\n")) found.push_back(text.str());
  }
  return found;
}

// Signal handlers of the application must run on its own threads, and tools must be able to identify the thread.
TEST(ProgressThread, HasANameAndTakesNoSignals) {
  RankOptions options = with_thread();
  const std::vector<Communicator> group = local_group(2, options.communicator);
  TUTTI_EXPECT_RANKS(group, [](const Communicator& comm) {
    std::vector<float> data(kCount, 1.0F);
    comm.allreduce(data, {.async = true}).wait();
  });
  // The kernel may still list a thread of an earlier test shortly after it was joined.
  std::vector<std::string> threads;
  for (const auto deadline = std::chrono::steady_clock::now() + 10s * kDeadlineFactor;
       (threads = statuses_of_threads("tutti-progress")).size() > 2 && std::chrono::steady_clock::now() < deadline;) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(threads.size(), 2U);
  constexpr std::string_view kLabel = "SigBlk:\t";
  for (const std::string& status : threads) {
    const std::size_t at = status.find(kLabel);
    ASSERT_NE(at, std::string::npos);
    const unsigned long long blocked = std::stoull(status.substr(at + kLabel.size(), 16), nullptr, 16);
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGALRM}) {
      EXPECT_NE(blocked & (1ULL << (signal - 1)), 0U) << "signal " << signal;
    }
  }
}

TEST(ProgressThread, OneRankNeedsNobody) {
  TUTTI_EXPECT_RANKS(
      1,
      [](const Communicator& comm) {
        std::vector<float> data(kCount, 1.0F);
        comm.allreduce(data, {.async = true}).wait();
        expect_all(data, 1.0F);
      },
      with_thread());
}

}  // namespace
}  // namespace tutti::test
