#include "analysis/changes.hpp"

#include <gtest/gtest.h>

#include "analysis/invented_results.hpp"

namespace tutti::tools {
namespace {

using test::failed_row;
using test::kMiB;
using test::results_of;
using test::row;
using test::with_runs;

TEST(Changes, HaveARatioAndAKind) {
  const SweepResults before = results_of({row("a", 100), row("b", 100), row("c", 100), failed_row("d", "crashed"),
                                          row("e", 100), failed_row("f", "crashed"), row("g", 1)});
  const SweepResults after = results_of({row("c", 103), row("b", 80), row("a", 150), row("d", 10),
                                         failed_row("e", "hung"), failed_row("f", "hung"), row("h", 1)});
  const std::vector<Change> changes = compare_results(before, after);
  ASSERT_EQ(changes.size(), 6U);
  const std::vector<ChangeKind> kinds = {ChangeKind::slower,   ChangeKind::faster, ChangeKind::none,
                                         ChangeKind::repaired, ChangeKind::broken, ChangeKind::none};
  const std::vector<double> ratios = {1.5, 0.8, 1.03, 0, 0, 0};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    EXPECT_EQ(changes[i].kind, kinds[i]) << i;
    EXPECT_DOUBLE_EQ(changes[i].ratio, ratios[i]) << i;
    EXPECT_EQ(changes[i].before->backend, changes[i].after->backend);
  }
}

TEST(Changes, RunsShowSmallerChangesThanCallsOfOneRun) {
  const SweepResults before = results_of({with_runs(row("a", 100), {99, 100, 100, 100, 100, 101, 101})});
  const SweepResults after = results_of({with_runs(row("a", 104), {103, 104, 104, 104, 104, 104, 105})});
  EXPECT_EQ(compare_results(before, after).at(0).kind, ChangeKind::slower);
  EXPECT_EQ(compare_results(results_of({row("a", 100)}), results_of({row("a", 104)})).at(0).kind, ChangeKind::none);
}

TEST(Changes, OfResultsWithNothingInCommonAreNone) {
  EXPECT_TRUE(compare_results(results_of({row("a", 1)}), results_of({row("a", 1, 2 * kMiB)})).empty());
}

TEST(Regressions, AreSlowerThanTheLimitOrBroken) {
  const SweepResults before = results_of({row("a", 100), row("b", 100), row("c", 100), row("d", 100)});
  const SweepResults after = results_of({row("a", 130), row("b", 119), row("c", 60), failed_row("d", "wrong result")});
  const std::vector<Change> regressions = find_regressions(compare_results(before, after), 0.2);
  ASSERT_EQ(regressions.size(), 2U);
  EXPECT_EQ(regressions[0].before->backend, "a");
  EXPECT_EQ(regressions[1].before->backend, "d");
}

TEST(Regressions, AreNotWithinTheNoise) {
  const auto noisy = [](double median) { return with_runs(row("a", median), {50, 60, 100, 100, 100, 140, 200}); };
  EXPECT_TRUE(find_regressions(compare_results(results_of({noisy(100)}), results_of({noisy(130)})), 0.1).empty());
}

}  // namespace
}  // namespace tutti::tools
