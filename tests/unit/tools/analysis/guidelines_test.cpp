#include "analysis/guidelines.hpp"

#include <gtest/gtest.h>

#include "analysis/invented_results.hpp"

namespace tutti::tools {
namespace {

using test::failed_row;
using test::kMiB;
using test::results_of;
using test::row;

TEST(Guidelines, AllgatherIsNoSlowerThanGatherAndBroadcast) {
  const SweepResults results =
      results_of({row("a", 300, kMiB, OpKind::allgather), row("a", 90, kMiB, OpKind::gather),
                  row("a", 110, kMiB, OpKind::broadcast), row("b", 100, kMiB, OpKind::allgather),
                  row("b", 90, kMiB, OpKind::gather), row("b", 110, kMiB, OpKind::broadcast)});
  const std::vector<BrokenGuideline> broken = find_broken_guidelines(results);
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken[0].row->backend, "a");
  EXPECT_EQ(broken[0].row->cell.op, OpKind::allgather);
  EXPECT_EQ(broken[0].way(), "gather + broadcast");
  EXPECT_DOUBLE_EQ(broken[0].parts_us, 200);
  EXPECT_DOUBLE_EQ(broken[0].factor, 1.5);
}

TEST(Guidelines, AllreduceHasTwoCompositions) {
  const SweepResults results =
      results_of({row("a", 400), row("a", 100, kMiB, OpKind::reduce), row("a", 100, kMiB, OpKind::broadcast),
                  row("a", 50, kMiB, OpKind::reduce_scatter), row("a", 50, kMiB, OpKind::allgather)});
  const std::vector<BrokenGuideline> broken = find_broken_guidelines(results);
  ASSERT_EQ(broken.size(), 2U);
  EXPECT_EQ(broken[0].way(), "reduce + broadcast");
  EXPECT_DOUBLE_EQ(broken[0].factor, 2);
  EXPECT_EQ(broken[1].way(), "reduce_scatter + allgather");
  EXPECT_DOUBLE_EQ(broken[1].factor, 4);
}

TEST(Guidelines, ACallIsNoSlowerThanTwoOfHalfItsSize) {
  const SweepResults results =
      results_of({row("a", 100), row("a", 500, 2 * kMiB), row("a", 1010, 4 * kMiB), row("a", 5000, 16 * kMiB)});
  const std::vector<BrokenGuideline> broken = find_broken_guidelines(results);
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken[0].key.cell.bytes, 2 * kMiB);
  EXPECT_EQ(broken[0].way(), "2 x 1 MiB");
  EXPECT_DOUBLE_EQ(broken[0].factor, 2.5);
}

TEST(Guidelines, PartsMustBeOfTheSameBackendAndSucceed) {
  const SweepResults results =
      results_of({row("a", 400), row("b", 1, kMiB, OpKind::reduce), row("a", 1, kMiB, OpKind::broadcast),
                  failed_row("a", "wrong result", kMiB, OpKind::reduce)});
  EXPECT_TRUE(find_broken_guidelines(results).empty());
}

}  // namespace
}  // namespace tutti::tools
