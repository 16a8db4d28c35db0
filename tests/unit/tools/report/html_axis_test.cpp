#include "report/html/html_axis.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tutti::tools {
namespace {

std::vector<std::string> labels(const Axis& axis) {
  std::vector<std::string> texts;
  for (const AxisTick& tick : axis.ticks) texts.push_back(tick.label);
  return texts;
}

using Labels = std::vector<std::string>;

TEST(HtmlAxis, TicksAreRoundNumbersAroundTheValues) {
  EXPECT_EQ(labels(value_axis(Quantity::time_us, 130, 900)), (Labels{"100 µs", "200 µs", "500 µs", "1 ms"}));
  EXPECT_EQ(labels(value_axis(Quantity::factor, 0.7, 1.5)), (Labels{"0.6×", "0.8×", "1×", "1.5×"}));
  EXPECT_EQ(labels(value_axis(Quantity::count, 3, 3)), (Labels{"2", "5"}));
  EXPECT_EQ(labels(value_axis(Quantity::gigabytes_per_second, 0.002, 0.02)),
            (Labels{"0.002", "0.005", "0.01", "0.02"}));
  EXPECT_EQ(labels(value_axis(Quantity::bytes, 1 << 20, 1 << 22)), (Labels{"1 MiB", "2 MiB", "4 MiB"}));
}

TEST(HtmlAxis, SingleValueOnATickHasRoomOnBothSides) {
  const Axis axis = value_axis(Quantity::factor, 1, 1);
  EXPECT_EQ(labels(axis), (Labels{"0.8×", "1×", "1.5×"}));
  EXPECT_GT(axis.place(1), 0.3);
  EXPECT_LT(axis.place(1), 0.7);
}

TEST(HtmlAxis, WideRangesHaveFewTicksAndHoldTheValues) {
  for (const Quantity quantity : {Quantity::time_us, Quantity::bytes, Quantity::count}) {
    for (const double largest : {3.0, 1e3, 1e6, 1e9, 1e12}) {
      const Axis axis = value_axis(quantity, 1.7, largest);
      EXPECT_LE(axis.low, 1.7);
      EXPECT_GE(axis.high, largest);
      EXPECT_GE(axis.ticks.size(), 2U);
      EXPECT_LE(axis.ticks.size(), 9U);
      EXPECT_TRUE(std::ranges::is_sorted(axis.ticks, {}, &AxisTick::value));
    }
  }
}

TEST(HtmlAxis, SizesThatAreCloseShareALabel) {
  const std::vector<std::uint64_t> few = {1024, 4096, 16384};
  EXPECT_EQ(labels(size_axis(few, 7)), (Labels{"1 KiB", "4 KiB", "16 KiB"}));
  std::vector<std::uint64_t> many;
  for (int i = 0; i < 30; ++i) many.push_back(std::uint64_t{1} << i);
  EXPECT_LE(size_axis(many, 7).ticks.size(), 8U);
  const std::vector<std::uint64_t> one = {0};
  EXPECT_EQ(size_axis(one, 7).ticks.size(), 1U);
  EXPECT_LT(size_axis(one, 7).low, size_axis(one, 7).high);
}

}  // namespace
}  // namespace tutti::tools
