#include "bridge/ccl_turns.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tutti::ccl {
namespace {

TEST(CclTurns, AreNotTakenUnlessEnabled) {
  Turns turns;
  const Turn first(turns);
  const Turn second(turns);
  EXPECT_FALSE(first);
  EXPECT_FALSE(second);
}

TEST(CclTurns, LetOneThreadInAtATime) {
  Turns turns;
  turns.enable(true);
  std::atomic<int> inside = 0;
  std::atomic<int> together = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 500; ++k) {
        const Turn turn(turns);
        if (inside.fetch_add(1) != 0) ++together;
        inside.fetch_sub(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, 0);
}

// A thread waits for a thread that can only come in while the first gives way.
TEST(CclTurns, AWaitingThreadComesInWhenAnotherGivesWay) {
  Turns turns;
  turns.enable(true);
  std::atomic<bool> done = false;
  Turn turn(turns);
  std::thread other([&] {
    const Turn own(turns);
    done = true;
  });
  while (!done) turn.give_way();
  other.join();
  EXPECT_TRUE(turn);
}

}  // namespace
}  // namespace tutti::ccl
