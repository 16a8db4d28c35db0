#include "ccl_lane.hpp"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "tutti/spi/instrument.hpp"

namespace tutti::ccl {
namespace {

using namespace std::chrono_literals;
constexpr auto kForEver = Lane::Clock::time_point::max();

TEST(CclLane, WorkIsDoneInOrderBesideTheCaller) {
  Lane lane;
  std::vector<int> done;
  std::thread::id thread;
  std::shared_ptr<Lane::Task> last;
  for (int i = 0; i < 100; ++i) {
    last = lane.submit([&, i] {
      done.push_back(i);
      thread = std::this_thread::get_id();
    });
  }
  EXPECT_TRUE(lane.wait(*last, kForEver));
  EXPECT_TRUE(last->is_done());
  EXPECT_TRUE(lane.is_idle());
  ASSERT_EQ(done.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(CclLane, WhatTheWorkThrowsIsThrownToWhoAsks) {
  Lane lane;
  const auto task = lane.submit([] { throw std::runtime_error("no"); });
  EXPECT_TRUE(lane.wait(*task, kForEver));
  EXPECT_THROW(task->get(), std::runtime_error);
  const auto next = lane.submit([] {});
  EXPECT_TRUE(lane.wait(*next, kForEver));
  EXPECT_NO_THROW(next->get());
}

TEST(CclLane, AWaitEndsAtItsDeadlineAndALaneThatIsStuckIsLeftBehind) {
  // Owned by the work, as everything must be that it uses.
  const auto entered = std::make_shared<std::promise<void>>();
  const auto open = std::make_shared<std::promise<void>>();
  const auto done = std::make_shared<std::promise<void>>();
  bool begun = false;
  {
    Lane lane;
    const auto stuck = lane.submit([gate = open->get_future().share(), entered, done] {
      entered->set_value();
      gate.wait();
      done->set_value();
    });
    const auto dropped = lane.submit([&begun] { begun = true; });
    entered->get_future().wait();  // else it would be dropped too
    EXPECT_FALSE(lane.wait(*stuck, Lane::Clock::now() + 20ms));
    EXPECT_FALSE(lane.is_idle());
    EXPECT_FALSE(dropped->is_done());
  }
  open->set_value();
  EXPECT_EQ(done->get_future().wait_for(60s), std::future_status::ready);
  EXPECT_FALSE(begun) << "what was not begun must be dropped";
}

TEST(CclLane, CallsAreBookedOnTheOperationThatCausedThem) {
  Lane lane;
  OperationId seen = 0;
  std::shared_ptr<Lane::Task> task;
  {
    const spi::OperationScope scope(42);
    task = lane.submit([&] { seen = spi::current_operation(); });
  }
  EXPECT_TRUE(lane.wait(*task, kForEver));
  EXPECT_EQ(seen, 42U);
}

}  // namespace
}  // namespace tutti::ccl
