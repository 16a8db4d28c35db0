#include "creation/ccl_creation_lock.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tutti::ccl {
namespace {

TEST(CclTurns, OneAtATimeWhoeverTakesThem) {
  constexpr int kRanks = 4;
  constexpr int kTimes = 50;
  const std::vector<Rendezvous> ranks = local_rendezvous(kRanks);
  std::atomic<int> inside = 0;
  std::atomic<int> taken = 0;
  std::vector<std::thread> threads;
  for (const Rendezvous& rank : ranks) {
    threads.emplace_back([&, rank] {
      CreationLock creation(rank);
      for (int i = 0; i < kTimes; ++i) {
        const CreationLock::Guard guard(creation);
        EXPECT_EQ(inside.fetch_add(1), 0) << "two ranks hold the lock at the same time";
        std::this_thread::yield();
        inside.fetch_sub(1);
        taken.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken.load(), kRanks * kTimes);
}

// The first communicators of the ranks may be those of different groups; later groups then overlap.
TEST(CclTurns, GroupsOfOneJobShareTheLock) {
  constexpr int kTimes = 50;
  const std::vector<Rendezvous> ranks = local_rendezvous(4);
  const std::vector<int> low = {0, 1};
  const std::vector<int> high = {2, 3};
  std::atomic<int> inside = 0;
  std::vector<std::thread> threads;
  for (const Rendezvous& group : {ranks[0].subset(low, "group"), ranks[2].subset(high, "group"), ranks[3]}) {
    threads.emplace_back([&, group] {
      CreationLock creation(group);
      for (int i = 0; i < kTimes; ++i) {
        const CreationLock::Guard guard(creation);
        EXPECT_EQ(inside.fetch_add(1), 0) << "two groups hold the lock at the same time";
        std::this_thread::yield();
        inside.fetch_sub(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(CclTurns, OneThatFailsIsOverToo) {
  const std::vector<Rendezvous> ranks = local_rendezvous(2);
  CreationLock first(ranks[0]);
  CreationLock second(ranks[1]);
  try {
    const CreationLock::Guard guard(first);
    throw std::runtime_error("could not be made");
  } catch (const std::runtime_error&) {
  }
  const CreationLock::Guard guard(second);
  SUCCEED();
}

}  // namespace
}  // namespace tutti::ccl
