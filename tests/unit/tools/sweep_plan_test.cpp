#include "sweep/plan/sweep_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sweep/plan/sizes.hpp"
#include "sweep/plan/soak_schedule.hpp"
#include "sweep/show/time_left.hpp"
#include "sweep/sweep_runs.hpp"
#include "text/text.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

constexpr PlanHost kHost{std::uint64_t{8} << 30, 2};

SweepOptions small_sweep() {
  SweepOptions options;
  options.sizes = {1024, 2048, 4096};
  options.ranks = {2};
  return options;
}

std::vector<std::uint64_t> sizes_of(const SweepJob& job) {
  std::vector<std::uint64_t> sizes;
  for (const SweepCell& cell : job.cells) sizes.push_back(cell.bytes);
  return sizes;
}

std::string remarks_of(const SweepPlan& plan) { return join(plan.remarks, "\n"); }

TEST(SweepPlan, EachRunVisitsAllRanksAndBackends) {
  SweepOptions options = small_sweep();
  options.ranks = {1, 2};
  options.runs = 2;
  const SweepPlan plan = make_plan(options, {"native", "ccl"}, kHost);
  std::vector<std::string> order;
  for (const SweepJob& job : plan.jobs) {
    order.push_back(concat(job.run, ' ', job.ranks, ' ', job.backend, job.counted ? " counted" : ""));
    EXPECT_EQ(sizes_of(job), (std::vector<std::uint64_t>{1024, 2048, 4096})) << "sizes ascend without a seed";
  }
  EXPECT_EQ(order, (std::vector<std::string>{"0 1 native counted", "0 1 ccl counted", "0 2 native counted",
                                             "0 2 ccl counted", "1 1 native", "1 1 ccl", "1 2 native", "1 2 ccl"}));
  EXPECT_EQ(plan.cells(), 24U);
  EXPECT_TRUE(plan.remarks.empty()) << remarks_of(plan);
}

TEST(SweepPlan, ASeedGivesOneOrderThatDiffersBetweenJobs) {
  SweepOptions options = small_sweep();
  options.sizes = parse_sizes("1..1M");
  options.runs = 3;
  options.seed = 5;
  const SweepPlan plan = make_plan(options, {"native"}, kHost);
  const SweepPlan again = make_plan(options, {"native"}, kHost);
  ASSERT_EQ(plan.jobs.size(), 3U);
  for (std::size_t i = 0; i < plan.jobs.size(); ++i) EXPECT_EQ(sizes_of(plan.jobs[i]), sizes_of(again.jobs[i]));
  EXPECT_NE(sizes_of(plan.jobs[0]), sizes_of(plan.jobs[1]));
  options.seed = 6;
  EXPECT_NE(sizes_of(make_plan(options, {"native"}, kHost).jobs[0]), sizes_of(plan.jobs[0]));
  std::vector<std::uint64_t> sorted = sizes_of(plan.jobs[0]);
  std::ranges::sort(sorted);
  options.seed.reset();
  EXPECT_EQ(sorted, sizes_of(make_plan(options, {"native"}, kHost).jobs[0])) << "no cell is lost";
}

TEST(SweepPlan, TheOrderOfASeedIsTheSameOnEveryMachine) {
  std::vector<SweepCell> cells;
  for (std::uint64_t bytes = 0; bytes < 6; ++bytes) cells.push_back({OpKind::allreduce, bytes});
  shuffle(cells, 1, 0);
  EXPECT_EQ(sizes_of(SweepJob{.cells = cells}), (std::vector<std::uint64_t>{2, 3, 0, 4, 5, 1}));
}

TEST(SweepPlan, InPlaceIsLeftOutWhereItCannotBe) {
  SweepOptions options = small_sweep();
  options.ops = {OpKind::allreduce, OpKind::alltoall};
  options.in_place = {false, true};
  const SweepPlan plan = make_plan(options, {"native"}, kHost);
  EXPECT_EQ(plan.cells(), 9U);
  EXPECT_NE(remarks_of(plan).find("alltoall cannot work in place and will be measured with separate buffers only"),
            std::string::npos)
      << remarks_of(plan);
  options.ops = {OpKind::alltoall};
  options.in_place = {true};
  EXPECT_THROW((void)make_plan(options, {"native"}, kHost), UsageError);
}

TEST(SweepPlan, SizesOfPartsOfElementsAreSaid) {
  SweepOptions options = small_sweep();
  options.sizes = {1, 1001, 4096};
  const std::string remarks = remarks_of(make_plan(options, {"native"}, kHost));
  EXPECT_EQ(remarks,
            "float32 has 4 bytes, and sizes are whole elements: measured are 4 B instead of 1 B, 1000 B instead of "
            "1001 B");
}

TEST(SweepPlan, TooLargeCellsAreSaidBeforeTheStartWithTheLimit) {
  SweepOptions options = small_sweep();
  options.sizes = {1024, std::uint64_t{2} << 30, std::uint64_t{4} << 30};
  const SweepPlan plan = make_plan(options, {"native"}, kHost);
  EXPECT_EQ(plan.cells(), 1U);
  ASSERT_EQ(plan.unfitting.size(), 2U);
  EXPECT_EQ(plan.unfitting[0].needed_bytes, std::uint64_t{12} << 30);
  EXPECT_EQ(remarks_of(plan),
            "2 cells do not fit in memory and will be left out; the smallest, allreduce of 2.00 GiB on 2 ranks, needs "
            "12.0 GiB, 8.00 GiB are available");
  options.settings.concurrent = 2;
  options.sizes = {std::uint64_t{1} << 30};
  EXPECT_EQ(make_plan(options, {"native"}, kHost).unfitting.size(), 1U) << "each communicator has its buffers";
}

TEST(SweepPlan, MoreRanksThanCoresAreSaid) {
  SweepOptions options = small_sweep();
  options.ranks = {2, 3};
  const SweepPlan plan = make_plan(options, {"native"}, kHost);
  EXPECT_EQ(plan.cells(), 6U);
  EXPECT_NE(remarks_of(plan).find("3 ranks share 2 cores"), std::string::npos) << remarks_of(plan);
}

TEST(SweepPlan, RowsOfAnEarlierSweepAreNotMeasuredAgain) {
  SweepOptions options = small_sweep();
  options.runs = 2;
  std::vector<SweepRow> earlier(3);
  for (SweepRow& row : earlier) row = {.cell = {OpKind::allreduce, 1024}, .backend = "native", .ranks = 2};
  earlier[0].run_medians_us = {1, 2};
  earlier[1].cell.bytes = 2048;
  earlier[1].run_medians_us = {1};
  earlier[2].cell.bytes = 4096;
  earlier[2].status = "crashed";
  const SweepPlan plan = make_plan(options, {"native"}, kHost, earlier);
  ASSERT_EQ(plan.jobs.size(), 2U);
  EXPECT_EQ(sizes_of(plan.jobs[0]), std::vector<std::uint64_t>{4096});
  EXPECT_EQ(sizes_of(plan.jobs[1]), (std::vector<std::uint64_t>{2048, 4096}));
  EXPECT_EQ(make_plan(options, {"ccl"}, kHost, earlier).cells(), 6U) << "rows of another backend";
}

TEST(SweepPlan, DefaultTimePerCellKeepsTheSweepWithinItsTime) {
  EXPECT_DOUBLE_EQ(default_seconds_per_cell(50, 50), 1);
  EXPECT_DOUBLE_EQ(default_seconds_per_cell(10000, 50), 0.1);
  EXPECT_DOUBLE_EQ(default_seconds_per_cell(500, 100), 0.2);
  SweepOptions options = small_sweep();
  options.seconds_per_cell = 7;
  EXPECT_EQ(make_plan(options, {"native"}, kHost).seconds_per_cell, 7);
}

SweepRow good_row(double time_us) {
  SweepRow row{.cell = {OpKind::allreduce, 1000}, .backend = "native", .ranks = 2, .bytes = 1000};
  row.time_us_p50 = time_us;
  row.time_us_min = time_us / 2;
  row.time_us_p99 = time_us * 2;
  return row;
}

TEST(SweepRuns, TheTimeIsTheMedianOfTheRuns) {
  std::vector<SweepRow> rows;
  for (const double time : {10.0, 40.0, 20.0}) add_run(rows, good_row(time));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].run_medians_us, (std::vector<double>{10, 40, 20}));
  EXPECT_EQ(rows[0].time_us_p50, 20);
  EXPECT_EQ(rows[0].time_us_min, 5);
  EXPECT_EQ(rows[0].time_us_p99, 80);
  EXPECT_DOUBLE_EQ(rows[0].algbw_gbs, 0.05);
  EXPECT_DOUBLE_EQ(rows[0].busbw_gbs, 0.05);
}

TEST(SweepRuns, AFailureInAnyRunIsKept) {
  std::vector<SweepRow> rows;
  SweepRow bad = good_row(0);
  bad.status = "crashed: signal 11";
  add_run(rows, good_row(10));
  add_run(rows, bad);
  add_run(rows, good_row(12));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].status, "crashed: signal 11, in run 2 after good ones");
  SweepRow elsewhere = good_row(3);
  elsewhere.ranks = 4;
  add_run(rows, elsewhere);
  elsewhere.cell.in_place = true;
  add_run(rows, elsewhere);
  EXPECT_EQ(rows.size(), 3U);
}

TEST(TimeLeft, LearnsFromTheSameCellAndFromOtherBackends) {
  SweepOptions options = small_sweep();
  options.sizes = {1024, 2048};
  options.runs = 2;
  options.settings.counted = false;
  options.seconds_per_cell = 1;
  const SweepPlan plan = make_plan(options, {"native", "ccl"}, kHost);
  TimeLeft left(plan);
  EXPECT_NEAR(left.seconds(0), 4 * 1.0 + 8 * 1.02, 0.01) << "four starts and eight cells as expected";
  left.begin_job();
  left.started(3);
  EXPECT_NEAR(left.seconds(0), 3 * 3.0 + 8 * 1.02, 0.01);
  EXPECT_NEAR(left.seconds(1), 3 * 3.0 + 8 * 1.02 - 1, 0.01);
  EXPECT_NEAR(left.seconds(100), 3 * 3.0 + 7 * 1.02, 0.01) << "a cell that takes longer leaves the others";
  left.finished(2);
  left.finished(4);
  EXPECT_NEAR(left.seconds(0), 3 * 3.0 + 3 * (2 + 4), 0.01) << "other backends and runs take the same time";
  left.begin_job();
  left.started(3);
  left.finished(1);
  EXPECT_NEAR(left.of_cell(), 4, 0.01);
  left.finished(1);
  EXPECT_NEAR(left.seconds(0), 2 * 3.0 + (2 + 4) + (1 + 1), 0.01);
}

TEST(SoakSchedule, JobsTakeTurnsAndFailedOnesGetNoMore) {
  SweepOptions options = small_sweep();
  options.seconds_per_cell = 1;
  const SweepPlan plan = make_plan(options, {"native", "ccl"}, kHost);
  SoakSchedule schedule(plan, 600, 1);
  const SweepJob first = schedule.next(600);
  EXPECT_EQ(first.backend, "native");
  EXPECT_TRUE(first.counted);
  EXPECT_EQ(schedule.round_cells(), 3U);
  EXPECT_EQ(first.cells.size() / 3, 24U) << "an eighth of 600 s in rounds of 3.06 s";
  schedule.finished(first.cells.size(), 7.5);
  const SweepJob second = schedule.next(500);
  EXPECT_EQ(second.backend, "ccl");
  schedule.finished(0, 1);
  const SweepJob third = schedule.next(400);
  EXPECT_EQ(third.backend, "native");
  EXPECT_FALSE(third.counted);
  EXPECT_EQ(third.cells.size() / 3, 240U) << "rounds of 0.3125 s";
  schedule.finished(1, 75);
  EXPECT_EQ(schedule.next(0.7).cells.size(), 6U) << "the time left is shorter than the share";
  schedule.finished(0, 1);
  EXPECT_TRUE(schedule.is_empty());
  EXPECT_EQ(rounds_for(1e9, 1e-9, 3), 666U) << "the command line of a rank is limited";
}

}  // namespace
}  // namespace tutti::tools
