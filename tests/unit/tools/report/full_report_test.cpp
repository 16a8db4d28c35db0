#include "report/full_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/invented_results.hpp"
#include "report/change_tables.hpp"
#include "report/imported_table.hpp"
#include "report/result_tables.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"

namespace tutti::tools {
namespace {

using test::failed_row;
using test::kMiB;
using test::results_of;
using test::row;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// The cells of a table as people see them, separated by bars.
std::vector<std::string> lines_of(const ReportTable& table) {
  std::vector<std::string> lines;
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const ReportCell& cell : row) cells.push_back(cell.text);
    lines.push_back(join(cells, "|"));
  }
  return lines;
}

std::string printed(const ReportInput& input, ReportFormat format = ReportFormat::text) {
  return full_report(input, format, Terminal(-1));
}

ReportInput before_and_after() {
  return {.files = {
              {"before", results_of({row("a", 100), row("b", 100), row("a", 100, 2 * kMiB), row("c", 100, 2 * kMiB)})},
              {"after", results_of({row("a", 150), row("b", 50), failed_row("a", "wrong result", 2 * kMiB),
                                    row("c", 101, 2 * kMiB), row("new", 1)})}}};
}

TEST(TimeTables, HaveTheWinnerOfEachSize) {
  const std::vector<ReportTable> tables = time_tables(
      results_of({row("a", 200), row("b", 160), row("a", 100, 2 * kMiB), failed_row("b", "hung", 2 * kMiB)}), "");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].title, "allreduce, float32, 4 ranks: time of a call");
  EXPECT_THAT(lines_of(tables[0]), ElementsAre("1 MiB|200 us|160 us|b|25 %|yes", "2 MiB|100 us|failed|||"));
  EXPECT_EQ(tables[0].rows[0][1].raw, "200");
  EXPECT_EQ(tables[0].rows[0][4].raw, "0.25");
}

TEST(TimeTables, HaveSpeedupsAgainstABaseline) {
  const std::vector<ReportTable> tables = time_tables(results_of({row("a", 200), row("b", 160), row("c", 400)}), "a");
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_THAT(lines_of(tables[0]), ElementsAre("1 MiB|200 us|160 us|1.25|400 us|0.50|b|25 %|yes"));
}

TEST(TimeTables, MarkMarginsWithinTheNoiseAndCellsThatDoNotFit) {
  const std::vector<ReportTable> tables = time_tables(
      results_of({row("a", 100), row("b", 102), failed_row("c", std::string(kDoesNotFit) + ": needs 9 GiB")}), "");
  EXPECT_THAT(lines_of(tables.at(0)), ElementsAre("1 MiB|100 us|102 us|does not fit|a|2.0 %|no"));
}

TEST(GuidelineTable, HasTheFactor) {
  const ReportTable table = guideline_table(results_of({row("a", 100), row("a", 500, 2 * kMiB)}));
  EXPECT_THAT(lines_of(table), ElementsAre("a|allreduce, float32, 4 ranks|2 MiB|500 us|2 x 1 MiB|200 us|2.50"));
}

TEST(ScalingTables, HaveAHeadingPerOperationAndType) {
  SweepRow one = row("a", 1000);
  one.ranks = 1;
  SweepRow two = row("a", 1250);
  two.ranks = 2;
  two.run_medians_us = {1250, 1250, 1250, 1250, 1250, 1250, 1250};
  const std::vector<ReportTable> tables = scaling_tables(results_of({one, two}));
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].title, "Scaling of allreduce, float32");
  EXPECT_THAT(lines_of(tables[0]),
              ElementsAre("a|1 MiB|1|1|1|1|1.00 ms|1.05|1.00|100 %", "a|1 MiB|1|2|2|7|1.25 ms|1.68|1.60|80 %"));
}

TEST(ScalingTables, HaveStepsWithAndWithoutCommunication) {
  SweepRow one = row("a", 1000);
  one.ranks = 1;
  SweepRow two = row("a", 1250);
  two.ranks = 2;
  EXPECT_THAT(step_tables(results_of({one, two})), ElementsAre(testing::Field(&ReportTable::rows, IsEmpty())));
  one.run_steps_us = {1000};
  one.run_computes_us = {1000};
  two.run_steps_us = {2000, 1250, 1250};
  two.run_computes_us = {1000, 1000, 1000};
  const SweepResults results = results_of({one, two});
  const std::vector<ReportTable> tables = step_tables(results);
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_EQ(tables[0].title, "Scaling of steps with allreduce, float32");
  EXPECT_THAT(lines_of(tables[0]), ElementsAre("a|1 MiB|1|1|1|1.00 ms|1000|1.00|100 %|1.00 ms|1000|1.00|100 %",
                                               "a|1 MiB|2|2|3|1.25 ms|1600|1.60|80 %|1.00 ms|2000|2.00|100 %"));
  EXPECT_THAT(printed({.files = {{"file", results}}}), HasSubstr("Scaling with and without communication"));
}

TEST(TroubleTable, HasEachReasonOnceWithItsSizes) {
  SweepResults results =
      results_of({row("a", 1), row("a", 1, 2 * kMiB), row("a", 1, 4 * kMiB), row("a", 1, 8 * kMiB),
                  failed_row("b", "hung"), failed_row("b", "hung", 2 * kMiB), failed_row("b", "hung", 4 * kMiB),
                  failed_row("b", "hung", 8 * kMiB), row("c", 1), failed_row("c", "crashed", 2 * kMiB)});
  results.rows[0].counts = CellCounts{};
  for (std::size_t i = 1; i < 4; ++i) results.rows[i].counts = CellCounts{};
  results.rows[9].note = "signal 11";
  results.unusable.push_back({"nccl", "no GPU"});
  EXPECT_THAT(lines_of(trouble_table(results)),
              ElementsAre("b|allreduce, float32, 4 ranks|1 MiB ... 8 MiB (4 sizes)|hung",
                          "c|allreduce, float32, 4 ranks|1 MiB|not counted: the calls that are counted failed or were "
                          "not made",
                          "c|allreduce, float32, 4 ranks|2 MiB|crashed (signal 11)",
                          "c|allreduce, float32, 4 ranks|4 MiB, 8 MiB|not measured: the sweep ended before",
                          "nccl|||not usable: no GPU"));
}

TEST(ChangeTables, HaveRatiosAndChangesBeyondTheNoise) {
  const ReportInput input = before_and_after();
  const std::vector<ReportTable> tables = change_tables(input.files);
  ASSERT_EQ(tables.size(), 1U);
  EXPECT_THAT(lines_of(tables[0]),
              ElementsAre("1 MiB|a|100 us|150 us|1.50|SLOWER", "1 MiB|b|100 us|50.0 us|0.50|faster",
                          "2 MiB|a|100 us|failed||BROKEN", "2 MiB|c|100 us|101 us|1.01|"));
  EXPECT_EQ(change_summary(input.files[0], input.files[1]),
            "after against before: 4 cells in common, 1 slower beyond the noise, 1 faster beyond the noise, 1 broken");
}

TEST(ChangeTables, HaveColumnsForEachFurtherFile) {
  ReportInput input = before_and_after();
  input.files.push_back({"third", results_of({row("b", 200)})});
  EXPECT_THAT(
      lines_of(change_tables(input.files).at(0)),
      ElementsAre("1 MiB|a|100 us|150 us|1.50|SLOWER|-||", "1 MiB|b|100 us|50.0 us|0.50|faster|200 us|2.00|SLOWER",
                  "2 MiB|a|100 us|failed||BROKEN|-||", "2 MiB|c|100 us|101 us|1.01||-||"));
}

TEST(CommonCells, AreRequired) {
  ReportInput input = before_and_after();
  EXPECT_NO_THROW(check_common_cells(input.files));
  input.files.push_back({"other", results_of({row("a", 1, 64 * kMiB, OpKind::broadcast)})});
  try {
    check_common_cells(input.files);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("before and other have no cell in common"));
    EXPECT_THAT(error.what(), HasSubstr("before has allreduce, float32, 4 ranks from 1 MiB to 2 MiB on a, b, c"));
    EXPECT_THAT(error.what(), HasSubstr("other has broadcast, float32, 4 ranks from 64 MiB to 64 MiB on a"));
  }
}

TEST(RegressionLines, NameCellTimesAndFactor) {
  ReportInput input = before_and_after();
  EXPECT_THAT(regression_lines(input), IsEmpty());
  input.regression_share = 0.6;
  EXPECT_THAT(regression_lines(input),
              ElementsAre("allreduce, float32, 4 ranks, 2 MiB on a: 100 us before, fails now: wrong result"));
  input.regression_share = 0.1;
  EXPECT_THAT(regression_lines(input),
              ElementsAre("allreduce, float32, 4 ranks, 1 MiB on a: 100 us before, 150 us after: 1.50 times",
                          "allreduce, float32, 4 ranks, 2 MiB on a: 100 us before, fails now: wrong result"));
  EXPECT_THAT(printed(input), HasSubstr("Regressions, slower by more than 10 % or failing now:\n"));
  std::swap(input.files[0], input.files[1]);
  input.regression_share = 2;
  EXPECT_THAT(printed(input), HasSubstr("No cell is slower by more than 200 % beyond the noise.\n"));
}

TEST(FullReport, ShowsImportedTablesBesideThoseOfTheSameOperation) {
  SweepRow counted = row("native", 100);
  counted.counts = CellCounts{.calls = 10, .host_calls = 7, .host_time_us = 2};
  SweepRow other = row("native", 100, kMiB, OpKind::broadcast);
  other.counts = CellCounts{.calls = 10, .host_calls = 7, .host_time_us = 2};
  ReportInput input{.files = {{"new", results_of({counted, other})}}};
  input.imported.push_back(
      imported_table("All reduce\n| | | Total CPU Time | Total CPU calls |\n"
                     "| 1 | CCL | 1.85min | 350753 |\n",
                     "old.md"));
  const std::string text = printed(input);
  EXPECT_THAT(text, HasSubstr("   size  native time  calls  CCL (old.md) time   calls\n"
                              "  -----  -----------  -----  -----------------  ------\n"
                              "  1 MiB       2.00us      7            1.85min  350753\n"));
  EXPECT_THAT(text, HasSubstr("   size  native time  calls\n  -----  -----------  -----\n"
                              "  1 MiB       2.00us      7\n"));
}

TEST(FullReport, OfSeveralFilesNamesThem) {
  ReportInput input = before_and_after();
  for (NamedResults& file : input.files)
    file.results.rows[0].counts = CellCounts{.calls = 1, .host_calls = 5, .host_time_us = 3};
  const std::string text = printed(input);
  EXPECT_THAT(text, HasSubstr("before: allreduce, float32, 4 ranks: time of a call"));
  EXPECT_THAT(text, HasSubstr("a (before) time"));
  EXPECT_THAT(text, HasSubstr("a (after) time"));
  EXPECT_THAT(text, HasSubstr("after: Failed and incomplete cells"));
}

TEST(FullReport, InCsvHasNumbersOnlyAndATitlePerTable) {
  const std::string text = printed(before_and_after(), ReportFormat::csv);
  EXPECT_THAT(text, HasSubstr("# allreduce, float32, 4 ranks: changes\n"
                              "bytes,backend,before us,after us,after ratio,after change\n"
                              "1048576,a,100,150,1.5,SLOWER\n"));
  EXPECT_THAT(text, Not(HasSubstr("beyond the noise, which is")));
  EXPECT_THAT(text, Not(HasSubstr("100 us")));
}

TEST(FullReport, HasNoControlCharactersOfFiles) {
  const ReportInput input{.files = {{"new", results_of({row("a\033[2J", 1), failed_row("b", "exit\r\ncode 1")})}}};
  for (const ReportFormat format : {ReportFormat::text, ReportFormat::markdown}) {
    const std::string text = printed(input, format);
    EXPECT_THAT(text, HasSubstr("a?[2J"));
    EXPECT_THAT(text, HasSubstr("exit??code 1"));
    EXPECT_THAT(text, Not(HasSubstr("\033")));
  }
}

TEST(FullReport, SurvivesNumbersOfAnySize) {
  const ReportInput input{
      .files = {{"new", results_of({row("a", 1e-300), row("b", 1e300)})}},
      .imported = {imported_table("| | | Total CPU Time | Total CPU calls |\n"
                                  "| 1 | a | 99999999999999999999999999h | 18446744073709551615 |\n",
                                  "old")}};
  EXPECT_THAT(printed(input), HasSubstr("100000000000000004764729344.00h"));
}

TEST(FullReport, InMarkdownEscapesBars) {
  ReportInput input{.files = {{"new", results_of({row("a", 1), failed_row("b", "exit code 1: usage: a | b")})}}};
  EXPECT_THAT(printed(input, ReportFormat::markdown),
              HasSubstr("| b | allreduce, float32, 4 ranks | 1 MiB | exit code 1: usage: a \\| b |\n"));
}

}  // namespace
}  // namespace tutti::tools
