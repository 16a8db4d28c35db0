#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "report/profile.hpp"

namespace tutti::profiling {
namespace {

TEST(Histogram, BucketsGrowWithTheValueAndReachTheLargest) {
  std::size_t previous = 0;
  for (std::uint64_t value = 1; value != 0; value *= 2) {
    for (const std::uint64_t near : {value, value + value / 4, value + value / 2, value + (value - 1)}) {
      const std::size_t bucket = Histogram::bucket_of(near);
      ASSERT_GE(bucket, previous) << near;
      ASSERT_LT(bucket, Histogram::kBuckets) << near;
      previous = bucket;
    }
  }
  EXPECT_EQ(Histogram::bucket_of(std::numeric_limits<std::uint64_t>::max()), Histogram::kBuckets - 1);
}

TEST(Histogram, QuantilesLieWithinAnEighthOfTheTrueOnes) {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> values(20'001);
  Histogram histogram;
  for (std::uint64_t& value : values) {
    value = random() >> (random() % 60);
    histogram.add(value);
  }
  std::sort(values.begin(), values.end());
  for (const double share : {0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 1.0}) {
    const auto index =
        std::min(values.size() - 1, static_cast<std::size_t>(share * static_cast<double>(values.size())));
    const auto exact = static_cast<double>(values[index]);
    EXPECT_NEAR(static_cast<double>(histogram.quantile(share)), exact, exact / 8 + 0.5) << share;
  }
}

TEST(Histogram, OfNothingAndOfTheSumOfTwo) {
  Histogram one;
  EXPECT_EQ(one.quantile(0.5), 0U);
  one.add(3, 10);
  Histogram two;
  two.add(1'000'000, 30);
  one.add(two);
  EXPECT_EQ(one.quantile(0.1), 3U);
  EXPECT_NEAR(static_cast<double>(one.quantile(0.5)), 1e6, 1e6 / 8);
}

TEST(Statistics, SumKeepsTheExtremesAndTheErrors) {
  Statistics none;
  Statistics some{.calls = 3, .errors = 1, .total = 30, .min = 10, .max = 20, .bytes = 8, .values = {}};
  none.add(some);
  none.add(Statistics{.calls = 1, .errors = 1, .values = {}});
  EXPECT_EQ(none.calls, 4U);
  EXPECT_EQ(none.errors, 2U);
  EXPECT_EQ(none.min, 10U);
  EXPECT_EQ(none.max, 20U);
}

}  // namespace
}  // namespace tutti::profiling
