#include "analysis/winners.hpp"

#include <gtest/gtest.h>

#include "analysis/invented_results.hpp"

namespace tutti::tools {
namespace {

using test::failed_row;
using test::kMiB;
using test::results_of;
using test::row;

TEST(Winners, AreTheFastestOfEachCell) {
  const SweepResults results = results_of({row("a", 200), row("b", 160), row("c", 400), row("a", 100, 2 * kMiB),
                                           row("b", 104, 2 * kMiB), row("a", 9, kMiB, OpKind::broadcast)});
  const std::vector<Winner> winners = find_winners(results);
  ASSERT_EQ(winners.size(), 2U);
  EXPECT_EQ(winners[0].best->backend, "b");
  EXPECT_EQ(winners[0].second->backend, "a");
  EXPECT_DOUBLE_EQ(winners[0].margin, 0.25);
  EXPECT_TRUE(winners[0].is_beyond_noise);
  EXPECT_EQ(winners[1].key.cell.bytes, 2 * kMiB);
  EXPECT_EQ(winners[1].best->backend, "a");
  EXPECT_NEAR(winners[1].margin, 0.04, 1e-12);
  EXPECT_FALSE(winners[1].is_beyond_noise);
}

TEST(Winners, FailedBackendsDoNotCompete) {
  const SweepResults results = results_of({row("a", 200), failed_row("b", "wrong result")});
  EXPECT_TRUE(find_winners(results).empty());
}

TEST(Winners, AreSeparateForRanksTypesAndPlaces) {
  SweepRow more_ranks = row("b", 1);
  more_ranks.ranks = 8;
  SweepRow other_type = row("b", 1);
  other_type.type = DataType::float16;
  SweepRow in_place = row("b", 1);
  in_place.cell.in_place = true;
  const SweepResults results = results_of({row("a", 200), more_ranks, other_type, in_place});
  EXPECT_TRUE(find_winners(results).empty());
}

TEST(Winners, OfTwoRowsOfABackendTheLaterCounts) {
  const SweepResults results = results_of({row("a", 10), row("b", 20), row("a", 40)});
  const std::vector<Winner> winners = find_winners(results);
  ASSERT_EQ(winners.size(), 1U);
  EXPECT_EQ(winners[0].best->backend, "b");
  EXPECT_DOUBLE_EQ(winners[0].margin, 1);
}

}  // namespace
}  // namespace tutti::tools
