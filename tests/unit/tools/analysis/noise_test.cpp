#include "analysis/noise.hpp"

#include <gtest/gtest.h>

#include "analysis/invented_results.hpp"

namespace tutti::tools {
namespace {

using test::row;
using test::with_runs;

void expect_range(const NoiseRange& range, double low, double high) {
  EXPECT_DOUBLE_EQ(range.low_us, low);
  EXPECT_DOUBLE_EQ(range.high_us, high);
}

TEST(NoiseRange, OfSevenRunsIsTheirRange) {
  expect_range(noise_range(with_runs(row("a", 100), {101, 99, 100, 98, 103, 100, 100})), 98, 103);
}

TEST(NoiseRange, OfThreeRunsIsAtLeastTheAssumedSpread) {
  expect_range(noise_range(with_runs(row("a", 100), {99, 100, 120})), 90, 120);
}

TEST(NoiseRange, OfOneRunDoesNotReachAsFarAsInterruptedCalls) {
  SweepRow one = row("a", 100);
  one.time_us_min = 80;
  one.time_us_p99 = 5000;
  expect_range(noise_range(one), 80, 120);
  one.time_us_p99 = 112;
  expect_range(noise_range(one), 80, 112);
}

TEST(NoiseRange, OfOneRunIsAtLeastTheAssumedSpread) { expect_range(noise_range(row("a", 100)), 90, 110); }

TEST(NoiseRange, SurvivesNumbersThatContradictEachOther) {
  SweepRow edited = row("a", 100);
  edited.time_us_min = 200;
  edited.time_us_p99 = 50;
  expect_range(noise_range(edited), 90, 110);
}

TEST(BeyondNoise, RangesThatTouchAreNot) {
  EXPECT_FALSE(is_beyond_noise({1, 2}, {2, 3}));
  EXPECT_TRUE(is_beyond_noise({1, 2}, {2.1, 3}));
  EXPECT_TRUE(is_beyond_noise({2.1, 3}, {1, 2}));
}

}  // namespace
}  // namespace tutti::tools
