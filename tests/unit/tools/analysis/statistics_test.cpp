#include "analysis/statistics.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tutti::tools {
namespace {

std::vector<double> first_numbers(std::size_t count) {
  std::vector<double> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1.0);
  return numbers;
}

TEST(Median, IsTheMiddle) {
  EXPECT_EQ(median(std::vector<double>{3}), 3);
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median(std::vector<double>{4, 1, 2, 3}), 2.5);
}

// The confidences are those of the tables of the sign test.
TEST(MedianInterval, HasTheConfidenceOfTheBinomialDistribution) {
  const auto of = [](std::size_t count) { return median_interval(first_numbers(count)); };
  EXPECT_DOUBLE_EQ(of(1).confidence, 0);
  EXPECT_DOUBLE_EQ(of(2).confidence, 0.5);
  EXPECT_DOUBLE_EQ(of(5).confidence, 0.9375);
  EXPECT_EQ(of(7).low, 1);
  EXPECT_EQ(of(7).high, 7);
  EXPECT_NEAR(of(7).confidence, 0.984375, 1e-9);
  EXPECT_EQ(of(9).low, 2);
  EXPECT_EQ(of(9).high, 8);
  EXPECT_NEAR(of(9).confidence, 0.9609375, 1e-9);
  EXPECT_EQ(of(100).low, 40);
  EXPECT_EQ(of(100).high, 61);
  EXPECT_NEAR(of(100).confidence, 0.9648, 1e-4);
  EXPECT_NEAR(of(7).relative(4), 0.75, 1e-9);
}

TEST(MedianInterval, ManySamplesDoNotMakeItEmpty) {
  const MedianInterval interval = median_interval(first_numbers(4000));
  EXPECT_NEAR((interval.high - interval.low) / 2, 62, 2) << "1.96 times half the square root of the samples";
  EXPECT_GE(interval.confidence, 0.95);
}

}  // namespace
}  // namespace tutti::tools
