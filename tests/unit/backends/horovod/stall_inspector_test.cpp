#include "engine/stall_inspector.hpp"

#include <gtest/gtest.h>

namespace tutti::horovod {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr StallInspector::Time kStart{};

StallInspector make(StallInspector::Options options = {}, int size = 3) { return {options, size, kStart}; }

TEST(StallInspector, NamesTheMissingRanksAndTheirTensors) {
  StallInspector inspector = make();
  inspector.submitted("b", 1, kStart);
  inspector.submitted("a", 0, kStart);
  inspector.submitted("a", 1, kStart);
  inspector.submitted("a", 1, kStart + seconds(5));
  const auto report = inspector.check(kStart + seconds(61));
  EXPECT_EQ(report.message,
            "One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are "
            "waiting for remainder of ranks for more than 60 seconds. This may indicate that different ranks are "
            "trying to submit different tensors or that only subset of ranks is submitting tensors, which will cause "
            "deadlock. \nMissing ranks:\n0: [b]\n2: [a, b]");
  EXPECT_FALSE(report.shuts_down);
  EXPECT_EQ(report.missing.at(2), (std::set<std::string>{"a", "b"}));
}

TEST(StallInspector, TheTimeRunsFromTheFirstSubmission) {
  StallInspector inspector = make();
  inspector.submitted("a", 0, kStart + seconds(10));
  inspector.submitted("a", 1, kStart + seconds(69));
  EXPECT_TRUE(inspector.check(kStart + seconds(70)).empty());
  EXPECT_FALSE(inspector.check(kStart + seconds(70) + milliseconds(1)).empty());
}

TEST(StallInspector, CompletedTensorsAndJoinedRanksAreNotMissing) {
  StallInspector inspector = make();
  inspector.submitted("done", 0, kStart);
  inspector.completed("done");
  EXPECT_TRUE(inspector.check(kStart + seconds(100)).empty());
  inspector.submitted("a", 0, kStart);
  const auto report = inspector.check(kStart + seconds(100), {1});
  EXPECT_EQ(report.missing.size(), 1u);
  EXPECT_TRUE(report.missing.contains(2));
  EXPECT_TRUE(inspector.check(kStart + seconds(100), {1, 2}).empty());
}

TEST(StallInspector, ShowsSixNamesPerRank) {
  StallInspector inspector = make({}, 2);
  for (char name = 'a'; name <= 'e'; ++name) inspector.submitted(std::string(1, name), 0, kStart);
  EXPECT_TRUE(inspector.check(kStart + seconds(61)).message.ends_with("\n1: [a, b, c, d, e]"));
  for (char name = 'f'; name <= 'z'; ++name) inspector.submitted(std::string(1, name), 0, kStart);
  EXPECT_TRUE(inspector.check(kStart + seconds(61)).message.ends_with("\n1: [a, b, c, d, e, f ...]"));
}

TEST(StallInspector, NamesAreMadePrintable) {
  StallInspector inspector = make({}, 2);
  inspector.submitted("a\nb", 0, kStart);
  EXPECT_TRUE(inspector.check(kStart + seconds(61)).message.ends_with("\n1: [a?b]"));
}

TEST(StallInspector, ShutsDownAfterTheSecondTime) {
  StallInspector inspector = make({.warning = seconds(5), .shutdown = seconds(10)});
  inspector.submitted("early", 0, kStart);
  inspector.submitted("late", 0, kStart + seconds(4));
  inspector.submitted("late", 1, kStart + seconds(4));
  EXPECT_FALSE(inspector.check(kStart + seconds(10)).shuts_down);
  inspector.submitted("early", 2, kStart + seconds(9));
  const auto report = inspector.check(kStart + seconds(11));
  EXPECT_TRUE(report.shuts_down);
  EXPECT_TRUE(
      report.message.ends_with("\nMissing ranks:\n1!: [early]\n2: [late]\nOne or more rank (marked by \"!\") is "
                               "stalled for longer than 10 seconds. Will shutdown."))
      << report.message;
}

TEST(StallInspector, AShutdownTimeBelowTheWarningTimeHasNoEffect) {
  StallInspector inspector = make({.warning = seconds(60), .shutdown = seconds(10)});
  inspector.submitted("a", 0, kStart);
  const auto report = inspector.check(kStart + seconds(100));
  EXPECT_FALSE(report.empty());
  EXPECT_FALSE(report.shuts_down);
  EXPECT_NE(inspector.conflict().find("will not shutdown"), std::string::npos);
  EXPECT_EQ(make({.shutdown = seconds(60)}).conflict(), "");
  EXPECT_EQ(make().conflict(), "");
}

TEST(StallInspector, ChecksAreDueOnceInAWarningTime) {
  StallInspector inspector = make();
  EXPECT_FALSE(inspector.is_due(kStart + seconds(60)));
  EXPECT_TRUE(inspector.is_due(kStart + seconds(61)));
  (void)inspector.check(kStart + seconds(61));
  EXPECT_FALSE(inspector.is_due(kStart + seconds(121)));
  EXPECT_TRUE(inspector.is_due(kStart + seconds(122)));
}

TEST(StallInspector, LateTensorsOfTheCacheAreListed) {
  StallInspector inspector = make();
  inspector.cached("a", kStart);
  inspector.cached("a", kStart + seconds(50));
  inspector.cached("b", kStart + seconds(50));
  inspector.cached("c", kStart);
  inspector.cached_completed("c");
  EXPECT_EQ(inspector.late_cached(kStart + seconds(61)), (std::vector<std::string>{"a"}));
}

TEST(StallInspector, DisabledItReportsNothing) {
  StallInspector inspector = make({.enabled = false});
  inspector.submitted("a", 0, kStart);
  inspector.cached("b", kStart);
  EXPECT_FALSE(inspector.is_due(kStart + seconds(1000)));
  EXPECT_TRUE(inspector.check(kStart + seconds(1000)).empty());
  EXPECT_TRUE(inspector.late_cached(kStart + seconds(1000)).empty());
}

}  // namespace
}  // namespace tutti::horovod
