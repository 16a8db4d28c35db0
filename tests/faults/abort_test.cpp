// Operations end when they can no longer succeed: by abort(), by a deadline, by a rank that gives up.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "expect_error.hpp"
#include "support/rank_threads.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

class Abort : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static RankOptions options() {
    RankOptions result;
    result.communicator.config.set("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES).set("TUTTI_BACKEND", GetParam());
    result.deadline = 60s;
    return result;
  }
};

TEST_P(Abort, FromAnotherThreadWakesAllRanks) {
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{1} << 20}) {
    const auto group = local_group(3, options().communicator);
    // Rank 2 never calls allreduce; another thread aborts the communicator.
    std::thread impatient([&] {
      std::this_thread::sleep_for(100ms);
      group[0].abort();
    });
    const auto begin = std::chrono::steady_clock::now();
    TUTTI_EXPECT_RANKS({group[0], group[1]}, [&](const Communicator& comm) {
      std::vector<float> data(count);
      expect_error(ErrorCode::aborted, {"allreduce", "abort"}, [&] { comm.allreduce(data); });
    });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s * kDeadlineFactor);
    impatient.join();
  }
}

TEST_P(Abort, EndsPendingWork) {
  const auto group = local_group(2, options().communicator);
  std::vector<float> data(100);
  Work work = group[0].allreduce(data, {.async = true});
  EXPECT_FALSE(work.ready());
  group[0].abort();
  expect_error(ErrorCode::aborted, {"abort"}, [&] { work.wait(); });
  ASSERT_NE(work.error(), nullptr);
  EXPECT_EQ(work.error()->code(), ErrorCode::aborted);
}

TEST_P(Abort, AlsoForNewCommunicators) {
  const auto group = local_group(2, options().communicator);
  group[0].abort();
  expect_error(ErrorCode::aborted, {"abort"}, [&] { (void)group[0].duplicate(); });
  expect_error(ErrorCode::aborted, {"abort"}, [&] { (void)group[0].split(0); });
}

TEST_P(Abort, LongestTimeoutIsNotOverAtOnce) {
  TUTTI_EXPECT_RANKS(local_group(2, options().communicator), [](const Communicator& comm) {
    if (comm.rank() == 1) std::this_thread::sleep_for(150ms);
    std::vector<float> data(4, 1.0F);
    comm.allreduce(data, {.timeout = std::chrono::nanoseconds::max()});
    EXPECT_EQ(data[3], 2.0F);
    Work work = comm.allreduce(data, {.async = true});
    EXPECT_TRUE(work.wait_for(std::chrono::nanoseconds::max()));
  });
}

// An operation that is pending when its communicator is split must not wait for the split.
TEST_P(Abort, SplitCarriesOutWhatIsUnderWay) {
  TUTTI_EXPECT_RANKS(local_group(2, options().communicator), [](const Communicator& comm) {
    std::vector<float> data(4, 1.0F);
    Work work = comm.allreduce(data, {.async = true});
    if (comm.rank() == 0) work.wait();
    const Communicator child = comm.split(0);
    work.wait();
    EXPECT_EQ(data[0], 2.0F);
    EXPECT_EQ(child.size(), 2);
  });
}

TEST_P(Abort, IsFinal) {
  const auto group = local_group(2, options().communicator);
  group[1].abort();
  group[1].abort();
  std::vector<float> data(4);
  expect_error(ErrorCode::aborted, {"broadcast", "abort"}, [&] { group[1].broadcast(data, 0); });
  expect_error(ErrorCode::aborted, {"barrier", "abort"}, [&] { group[1].barrier(); });
  // abort() affects all ranks of the communicator.
  expect_error(ErrorCode::aborted, {"barrier", "abort"}, [&] { group[0].barrier(); });
}

TEST_P(Abort, LeavesOtherCommunicatorsAlone) {
  TUTTI_EXPECT_RANKS(
      3,
      [](const Communicator& comm) {
        const Communicator twin = comm.duplicate("twin");
        twin.abort();
        std::int64_t sum = 1;
        comm.allreduce(Buffer(&sum, 1));
        EXPECT_EQ(sum, 3);
      },
      options());
}

TEST_P(Abort, RankThatThrowsEndsTheOthers) {
  const auto errors = run_ranks(
      4,
      [](const Communicator& comm) {
        for (int i = 0;; ++i) {
          if (comm.rank() == 2 && i == 10) throw std::runtime_error("user code of rank 2 gave up");
          std::vector<float> data(1000);
          comm.allreduce(data);
        }
      },
      options());
  ASSERT_EQ(errors.size(), 4u) << describe(errors);
  EXPECT_EQ(errors[2].message, "user code of rank 2 gave up");
  for (const int rank : {0, 1, 3}) {
    EXPECT_NE(errors[static_cast<std::size_t>(rank)].message.find("abort"), std::string::npos) << describe(errors);
  }
}

TEST_P(Abort, DestructionWithoutPeersReturns) {
  const auto begin = std::chrono::steady_clock::now();
  {
    auto group = local_group(3, options().communicator);
    group.erase(group.begin() + 1);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 15s * kDeadlineFactor);
}

TEST_P(Abort, TimeoutNamesTheLateRanks) {
  const auto group = local_group(4, options().communicator);
  // Ranks 1 and 3 never call allreduce.
  TUTTI_EXPECT_RANKS({group[0], group[2]}, [](const Communicator& comm) {
    std::vector<double> data(500);
    try {
      comm.allreduce(data, {.timeout = 200ms});
      ADD_FAILURE() << "allreduce returned without two of its ranks";
    } catch (const Error& error) {
      const std::string what = error.what();
      EXPECT_EQ(error.code(), ErrorCode::timeout) << what;
      EXPECT_NE(what.find("allreduce"), std::string::npos) << what;
      // Ranks 0 and 2 wait, and their own numbers may stand in the text; only the late ones "have not entered".
      for (const int rank : {0, 1, 2, 3}) {
        const bool named = what.find("rank " + std::to_string(rank) + " has not entered") != std::string::npos;
        EXPECT_EQ(named, rank % 2 == 1) << "rank " << rank << ": " << what;
      }
    }
  });
}

TEST_P(Abort, TimeoutOfTheCommunicator) {
  RankOptions settings = options();
  settings.communicator.config.set("TUTTI_TIMEOUT", "150ms");
  const auto group = local_group(2, settings.communicator);
  expect_error(ErrorCode::timeout, {"barrier", "rank 1 has not entered"}, [&] { group[0].barrier(); });
}

INSTANTIATE_TEST_SUITE_P(Backends, Abort, testing::Values("native", "minimal"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace tutti::test
