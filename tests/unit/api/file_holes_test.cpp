#include "file_holes.hpp"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace tutti::test {
namespace {

TEST(FileHoles, TakesTheBeginOfTheFirstHoleThatIsLongEnough) {
  FileHoles holes;
  EXPECT_EQ(holes.take(1), std::nullopt);
  holes.add(100, 10);
  holes.add(200, 30);
  EXPECT_EQ(holes.take(20), 200U);
  EXPECT_EQ(holes.take(10), 100U);
  EXPECT_EQ(holes.take(10), 220U);
  EXPECT_EQ(holes.take(1), std::nullopt);
}

TEST(FileHoles, NeighboursBecomeOne) {
  FileHoles holes;
  holes.add(0, 10);
  holes.add(20, 10);
  EXPECT_EQ(holes.take(30), std::nullopt);
  holes.add(10, 10);
  EXPECT_EQ(holes.take(30), 0U);
}

TEST(FileHoles, RangesInUseNeverOverlap) {
  constexpr std::uint64_t kBytes = 64;
  std::mt19937 random(1);
  FileHoles holes;
  holes.add(0, kBytes);
  std::vector<bool> used(kBytes);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> taken;
  const auto mark = [&](std::uint64_t offset, std::uint64_t length, bool value) {
    for (std::uint64_t i = offset; i < offset + length; ++i) {
      ASSERT_NE(used.at(i), value);
      used[i] = value;
    }
  };
  for (int step = 0; step < 10000; ++step) {
    const std::uint64_t length = 1 + random() % 9;
    if (const auto offset = random() % 2 == 0 ? holes.take(length) : std::nullopt) {
      mark(*offset, length, true);
      taken.emplace_back(*offset, length);
    } else if (!taken.empty()) {
      std::swap(taken[random() % taken.size()], taken.back());
      const auto [begin, bytes] = taken.back();
      taken.pop_back();
      mark(begin, bytes, false);
      holes.add(begin, bytes);
    }
  }
  for (const auto& [begin, bytes] : taken) holes.add(begin, bytes);
  EXPECT_EQ(holes.take(kBytes), 0U) << "all of the file is one hole again";
}

}  // namespace
}  // namespace tutti::test
