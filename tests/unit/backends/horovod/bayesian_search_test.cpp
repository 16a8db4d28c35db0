#include "autotune/bayesian_search.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tutti::horovod {
namespace {

const std::vector<Range> kBox = {{0, 64}, {1, 100}};

/// A hill whose top is at (40, 12).
double hill(const Point& point) {
  const double x = (point[0] - 40) / 64;
  const double y = (point[1] - 12) / 99;
  return 1000 * std::exp(-4 * (x * x + y * y));
}

double best_after(int points, std::uint64_t seed) {
  BayesianSearch search(kBox, {.seed = seed});
  double best = 0;
  for (const Point& first : {Point{4, 5}, {32, 50}, {16, 25}, {8, 10}}) {
    search.add(first, hill(first));
    best = std::max(best, hill(first));
  }
  for (int i = 0; i < points; ++i) {
    const Point point = search.next();
    search.add(point, hill(point));
    best = std::max(best, hill(point));
  }
  return best;
}

TEST(BayesianSearch, FindsTheTopOfAHill) {
  if (!GaussianProcess::is_available()) GTEST_SKIP() << "built without Eigen";
  for (const std::uint64_t seed : {0u, 1u, 2u}) EXPECT_GT(best_after(12, seed), 980) << seed;
}

TEST(BayesianSearch, StaysInTheBox) {
  BayesianSearch search(kBox, {});
  search.add({128, 1}, 500);  // outside
  for (int i = 0; i < 10; ++i) {
    const Point point = search.next();
    ASSERT_EQ(point.size(), 2u);
    EXPECT_TRUE(point[0] >= 0 && point[0] <= 64) << point[0];
    EXPECT_TRUE(point[1] >= 1 && point[1] <= 100) << point[1];
    search.add(point, 400 + i % 3);
  }
}

TEST(BayesianSearch, EqualSeedsGiveEqualPoints) {
  const auto points = [](std::uint64_t seed) {
    BayesianSearch search(kBox, {.seed = seed});
    search.add({4, 5}, 100);
    search.add({32, 50}, 150);
    std::vector<Point> result;
    for (int i = 0; i < 4; ++i) {
      result.push_back(search.next());
      search.add(result.back(), hill(result.back()));
    }
    return result;
  };
  EXPECT_EQ(points(3), points(3));
  EXPECT_EQ(points(3) != points(4), GaussianProcess::is_available());
}

TEST(BayesianSearch, TriesDifferentPlaces) {
  BayesianSearch search({{0, 1}}, {});
  Point before = {2};
  for (int i = 0; i < 5; ++i) {
    const Point point = search.next();
    EXPECT_NE(point, before);
    search.add(point, i);
    before = point;
  }
}

}  // namespace
}  // namespace tutti::horovod
