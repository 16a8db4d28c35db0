#include "mpi/request_table.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>

namespace tutti::profiling::mpi {
namespace {

TEST(RequestTable, GivesBackTheOldestOfARequest) {
  RequestTable<int> table;
  EXPECT_TRUE(table.is_empty());
  EXPECT_EQ(table.take(5), std::nullopt);
  EXPECT_TRUE(table.add(5, 1));
  EXPECT_TRUE(table.add(5, 2));
  EXPECT_TRUE(table.add(6, 3));
  EXPECT_FALSE(table.is_empty());
  EXPECT_EQ(table.take(5), 1);
  EXPECT_EQ(table.take(6), 3);
  EXPECT_EQ(table.take(5), 2);
  EXPECT_EQ(table.take(5), std::nullopt);
  EXPECT_TRUE(table.is_empty());
}

TEST(RequestTable, BehavesLikeAMapOfQueues) {
  RequestTable<int> table;
  std::map<Word, std::deque<int>> expected;
  std::mt19937 random(7);
  for (int step = 0; step < 200'000; ++step) {
    // Addresses of neighbouring objects, and few enough of them that several values share one.
    const Word request = 0x7f00'0000'1000U + 64 * (random() % 3000);
    auto& queue = expected[request];
    if (random() % 2 == 0) {
      ASSERT_TRUE(table.add(request, step));
      queue.push_back(step);
    } else if (queue.empty()) {
      ASSERT_EQ(table.take(request), std::nullopt) << step;
    } else {
      ASSERT_EQ(table.take(request), queue.front()) << step;
      queue.pop_front();
    }
  }
  std::size_t left = 0;
  for (const auto& [request, queue] : expected) left += queue.size();
  while (table.take_any()) --left;
  EXPECT_EQ(left, 0U);
  EXPECT_TRUE(table.is_empty());
}

TEST(RequestTable, RefusesWhatItHasNoRoomFor) {
  RequestTable<int> table;
  for (std::size_t i = 0; i < RequestTable<int>::kMost; ++i) ASSERT_TRUE(table.add(i % 7, 1));
  EXPECT_FALSE(table.add(1, 1));
  EXPECT_EQ(table.take(1), 1);
  EXPECT_TRUE(table.add(1, 1));
}

}  // namespace
}  // namespace tutti::profiling::mpi
