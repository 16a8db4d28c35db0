#include "analysis/noise.hpp"

#include <gtest/gtest.h>

#include <array>

#include "analysis/invented_results.hpp"

namespace tutti::tools {
namespace {

using test::row;
using test::with_runs;

TEST(MedianInterval, HoldsTheMedianWithAtLeast95Percent) {
  // Coverage of all samples: 1 - 2 / 2^n; the values are from tables of the sign test.
  const std::array<double, 9> samples = {9, 1, 8, 2, 7, 3, 6, 4, 5};
  EXPECT_EQ(median_interval(std::span(samples).first(1)), (NoiseRange{9, 9}));
  EXPECT_EQ(median_interval(std::span(samples).first(6)), (NoiseRange{1, 9}));  // 96.9 %
  EXPECT_EQ(median_interval(std::span(samples).first(8)), (NoiseRange{1, 9}));  // without the extremes: 93.0 %
  EXPECT_EQ(median_interval(samples), (NoiseRange{2, 8}));                      // 96.1 %
}

TEST(MedianInterval, OfManySamplesIsNarrow) {
  std::vector<double> samples;
  for (int i = 1; i <= 100; ++i) samples.push_back(i);
  EXPECT_EQ(median_interval(samples), (NoiseRange{40, 61}));
}

TEST(NoiseRange, OfSevenRunsIsTheirRange) {
  EXPECT_EQ(noise_range(with_runs(row("a", 100), {101, 99, 100, 98, 103, 100, 100})), (NoiseRange{98, 103}));
}

TEST(NoiseRange, OfThreeRunsIsAtLeastTheAssumedSpread) {
  EXPECT_EQ(noise_range(with_runs(row("a", 100), {99, 100, 120})), (NoiseRange{90, 120}));
}

TEST(NoiseRange, OfOneRunDoesNotReachAsFarAsInterruptedCalls) {
  SweepRow one = row("a", 100);
  one.time_us_min = 80;
  one.time_us_p99 = 5000;
  EXPECT_EQ(noise_range(one), (NoiseRange{80, 120}));
  one.time_us_p99 = 112;
  EXPECT_EQ(noise_range(one), (NoiseRange{80, 112}));
}

TEST(NoiseRange, OfOneRunIsAtLeastTheAssumedSpread) { EXPECT_EQ(noise_range(row("a", 100)), (NoiseRange{90, 110})); }

TEST(NoiseRange, SurvivesNumbersThatContradictEachOther) {
  SweepRow edited = row("a", 100);
  edited.time_us_min = 200;
  edited.time_us_p99 = 50;
  EXPECT_EQ(noise_range(edited), (NoiseRange{90, 110}));
}

TEST(BeyondNoise, RangesThatTouchAreNot) {
  EXPECT_FALSE(is_beyond_noise({1, 2}, {2, 3}));
  EXPECT_TRUE(is_beyond_noise({1, 2}, {2.1, 3}));
  EXPECT_TRUE(is_beyond_noise({2.1, 3}, {1, 2}));
}

}  // namespace
}  // namespace tutti::tools
