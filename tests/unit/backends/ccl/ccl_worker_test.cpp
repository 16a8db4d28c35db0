#include "ccl_worker.hpp"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "tutti/spi/instrument.hpp"

namespace tutti::ccl {
namespace {

using namespace std::chrono_literals;
constexpr auto kForEver = Worker::Clock::time_point::max();

TEST(CclLane, WorkIsDoneInOrderBesideTheCaller) {
  Worker worker;
  std::vector<int> done;
  std::thread::id thread;
  std::shared_ptr<Worker::Task> last;
  for (int i = 0; i < 100; ++i) {
    last = worker.submit([&, i] {
      done.push_back(i);
      thread = std::this_thread::get_id();
    });
  }
  EXPECT_TRUE(worker.wait(*last, kForEver));
  EXPECT_TRUE(last->is_done());
  EXPECT_TRUE(worker.is_idle());
  ASSERT_EQ(done.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(done[static_cast<std::size_t>(i)], i);
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST(CclLane, WhatTheWorkThrowsIsThrownToWhoAsks) {
  Worker worker;
  const auto task = worker.submit([] { throw std::runtime_error("no"); });
  EXPECT_TRUE(worker.wait(*task, kForEver));
  EXPECT_THROW(task->get(), std::runtime_error);
  const auto next = worker.submit([] {});
  EXPECT_TRUE(worker.wait(*next, kForEver));
  EXPECT_NO_THROW(next->get());
}

TEST(CclLane, AWaitEndsAtItsDeadlineAndALaneThatIsStuckIsLeftBehind) {
  // The task owns these, because it may outlive the worker.
  const auto entered = std::make_shared<std::promise<void>>();
  const auto open = std::make_shared<std::promise<void>>();
  const auto done = std::make_shared<std::promise<void>>();
  bool begun = false;
  {
    Worker worker;
    const auto stuck = worker.submit([gate = open->get_future().share(), entered, done] {
      entered->set_value();
      gate.wait();
      done->set_value();
    });
    const auto dropped = worker.submit([&begun] { begun = true; });
    entered->get_future().wait();  // a task that has not begun would be dropped
    EXPECT_FALSE(worker.wait(*stuck, Worker::Clock::now() + 20ms));
    EXPECT_FALSE(worker.is_idle());
    EXPECT_FALSE(dropped->is_done());
  }
  open->set_value();
  EXPECT_EQ(done->get_future().wait_for(60s), std::future_status::ready);
  EXPECT_FALSE(begun) << "a task that had not begun must be dropped";
}

TEST(CclLane, CallsAreBookedOnTheOperationThatCausedThem) {
  Worker worker;
  OperationId seen = 0;
  std::shared_ptr<Worker::Task> task;
  {
    const spi::OperationScope scope(42);
    task = worker.submit([&] { seen = spi::current_operation(); });
  }
  EXPECT_TRUE(worker.wait(*task, kForEver));
  EXPECT_EQ(seen, 42U);
}

}  // namespace
}  // namespace tutti::ccl
