#include "analysis/scaling.hpp"

#include <gtest/gtest.h>

#include "analysis/invented_results.hpp"

namespace tutti::tools {
namespace {

using test::failed_row;
using test::kMiB;
using test::results_of;
using test::row;

SweepRow with_ranks(SweepRow row, int ranks) {
  row.ranks = ranks;
  return row;
}

TEST(Scaling, HasThroughputSpeedupAndEfficiency) {
  const SweepResults results = results_of({with_ranks(row("a", 400), 4), with_ranks(row("a", 100), 1),
                                           with_ranks(row("a", 100), 2), with_ranks(row("b", 100), 2)});
  const std::vector<Scaling> scalings = find_scaling(results);
  ASSERT_EQ(scalings.size(), 1U);
  ASSERT_EQ(scalings[0].points.size(), 3U);
  const double one = static_cast<double>(kMiB) / 100e3;
  EXPECT_DOUBLE_EQ(scalings[0].points[0].throughput_gbs, one);
  EXPECT_DOUBLE_EQ(scalings[0].points[0].speedup, 1);
  EXPECT_DOUBLE_EQ(scalings[0].points[1].throughput_gbs, 2 * one);
  EXPECT_DOUBLE_EQ(scalings[0].points[1].speedup, 2);
  EXPECT_DOUBLE_EQ(scalings[0].points[1].efficiency, 1);
  EXPECT_DOUBLE_EQ(scalings[0].points[2].throughput_gbs, one);
  EXPECT_DOUBLE_EQ(scalings[0].points[2].speedup, 1);
  EXPECT_DOUBLE_EQ(scalings[0].points[2].efficiency, 0.25);
}

TEST(Scaling, StepsScaleWithAndWithoutCommunication) {
  const auto with_steps = [](SweepRow row, std::vector<double> steps, std::vector<double> computes) {
    row.run_steps_us = std::move(steps);
    row.run_computes_us = std::move(computes);
    return row;
  };
  const SweepResults results = results_of({with_steps(with_ranks(row("a", 10), 1), {100, 110, 90}, {99, 100, 101}),
                                           with_steps(with_ranks(row("a", 50), 4), {160, 170, 150}, {125, 125, 125}),
                                           with_ranks(row("a", 9), 8)});
  const std::vector<Scaling> scalings = find_scaling(results);
  ASSERT_EQ(scalings.size(), 1U);
  ASSERT_EQ(scalings[0].points.size(), 3U);
  ASSERT_TRUE(scalings[0].points[1].steps);
  const ScalingSteps& four = *scalings[0].points[1].steps;
  EXPECT_DOUBLE_EQ(four.step_us, 160) << "the median of the runs";
  EXPECT_DOUBLE_EQ(four.efficiency, 100.0 / 160);
  EXPECT_DOUBLE_EQ(four.speedup, 4 * 100.0 / 160);
  EXPECT_DOUBLE_EQ(four.alone_efficiency, 0.8);
  EXPECT_DOUBLE_EQ(four.alone_speedup, 3.2);
  EXPECT_DOUBLE_EQ(ScalingSteps::per_second(four.step_us, 4), 25000);
  EXPECT_DOUBLE_EQ(scalings[0].points[0].steps->speedup, 1);
  EXPECT_FALSE(scalings[0].points[2].steps) << "not measured there";
}

TEST(Scaling, StartsAtTheFewestRanks) {
  const SweepResults results = results_of({with_ranks(row("a", 100), 2), with_ranks(row("a", 200), 8)});
  const std::vector<Scaling> scalings = find_scaling(results);
  ASSERT_EQ(scalings.size(), 1U);
  EXPECT_DOUBLE_EQ(scalings[0].points[1].speedup, 2);
  EXPECT_DOUBLE_EQ(scalings[0].points[1].efficiency, 0.5);
}

TEST(Scaling, KnowsHosts) {
  SweepResults results = results_of({with_ranks(row("a", 100), 1), with_ranks(row("a", 100), 7)});
  results.backends[0].hostnames = 2;
  const std::vector<Scaling> scalings = find_scaling(results);
  ASSERT_EQ(scalings.size(), 1U);
  EXPECT_EQ(scalings[0].points[0].hosts, 1U);
  EXPECT_EQ(scalings[0].points[1].hosts, 2U);
  EXPECT_EQ(scalings[0].points[1].ranks_per_host, 4U);
}

TEST(Scaling, ARankOfGatherHasOneBlock) {
  const SweepResults results = results_of(
      {with_ranks(row("a", 100, kMiB, OpKind::gather), 1), with_ranks(row("a", 100, kMiB, OpKind::gather), 4),
       with_ranks(row("a", 100, kMiB, OpKind::broadcast), 1), with_ranks(row("a", 100, kMiB, OpKind::broadcast), 4)});
  const std::vector<Scaling> scalings = find_scaling(results);
  ASSERT_EQ(scalings.size(), 2U);
  EXPECT_EQ(scalings[0].key.cell.op, OpKind::broadcast);
  EXPECT_EQ(scalings[0].points[1].bytes_per_rank, kMiB);
  EXPECT_DOUBLE_EQ(scalings[0].points[1].speedup, 4);
  EXPECT_EQ(scalings[1].points[1].bytes_per_rank, kMiB / 4);
  EXPECT_DOUBLE_EQ(scalings[1].points[1].speedup, 1);
}

TEST(Scaling, NeedsTwoSuccessfulNumbersOfRanks) {
  SweepRow failed = failed_row("a", "crashed");
  failed.ranks = 2;
  const SweepResults results = results_of({with_ranks(row("a", 100), 1), failed});
  EXPECT_TRUE(find_scaling(results).empty());
}

}  // namespace
}  // namespace tutti::tools
