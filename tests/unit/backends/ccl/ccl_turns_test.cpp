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

// At the exit of the process a thread that was left behind must not be inside, nor come in again.
TEST(CclTurns, CloseStopsTheOtherThreads) {
  Turns& turns = *new Turns;  // the thread uses it to the end of the process
  turns.enable(true);
  static std::atomic<bool> is_inside = false;
  static std::atomic<std::uint64_t> rounds = 0;
  std::thread([&turns] {
    Turn turn(turns);
    is_inside = true;
    for (;; ++rounds) turn.give_way();
  }).detach();
  while (!is_inside) std::this_thread::yield();
  turns.close(std::chrono::minutes(1));
  const std::uint64_t before = rounds;
  const Turn mine(turns);  // the closing thread may still call
  const Turn nested(turns);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(rounds, before);
}

TEST(CclTurns, CloseGivesUpOnAThreadThatStaysInside) {
  Turns turns;
  turns.enable(true);
  std::atomic<bool> may_leave = false;
  std::atomic<bool> is_inside = false;
  std::thread other([&] {
    const Turn turn(turns);
    is_inside = true;
    while (!may_leave) std::this_thread::yield();
  });
  while (!is_inside) std::this_thread::yield();
  turns.close(std::chrono::milliseconds(1));
  const Turn mine(turns);
  may_leave = true;
  other.join();
}

}  // namespace
}  // namespace tutti::ccl
