#include "report/imported_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/invented_results.hpp"
#include "report/markdown_rows.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"

namespace tutti::tools {
namespace {

using test::kMiB;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const ComparisonCell& cell(const ComparisonTable& table, std::size_t column, std::uint64_t mebibytes, Cost cost) {
  return table.columns.at(column).by_size.at(mebibytes * kMiB).at(static_cast<std::size_t>(cost));
}

ComparisonTable thapi_table() { return read_imported_table(TUTTI_TEST_THAPI_TABLE); }

std::string error_of(std::string_view markdown) {
  try {
    (void)imported_table(markdown, "t.md");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ImportedTable, HasTheBackendsSizesAndValuesOfTheFile) {
  const ComparisonTable table = thapi_table();
  ASSERT_EQ(table.columns.size(), 3U);
  EXPECT_EQ(table.columns[0].name, "CCL");
  EXPECT_EQ(table.columns[1].name, "HVD");
  EXPECT_EQ(table.columns[2].name, "MPI4py");
  EXPECT_EQ(table.sizes().size(), 10U);
  EXPECT_EQ(table.sizes().front(), kMiB);
  EXPECT_EQ(table.sizes().back(), 512 * kMiB);
  // The first row is broken over three lines in the file.
  EXPECT_DOUBLE_EQ(cell(table, 0, 1, Cost::host).amount.value(), 1.85 * 60e9);
  EXPECT_EQ(cell(table, 0, 1, Cost::host).calls, 350753U);
  EXPECT_DOUBLE_EQ(cell(table, 2, 512, Cost::device).amount.value(), 753.75e6);
  EXPECT_DOUBLE_EQ(cell(table, 1, 256, Cost::traffic).amount.value(), 595.59e6);
  EXPECT_TRUE(cell(table, 0, 1, Cost::allocation).is_empty());
  EXPECT_THAT(table.ops, ElementsAre(OpKind::allreduce));
}

TEST(ImportedTable, KeepsTheHeaderLinesOfIprofWithTheirBackend) {
  const ComparisonTable table = thapi_table();
  EXPECT_THAT(
      table.columns[1].header_lines,
      ElementsAre("HVD BACKEND_ZE | 1 Hostnames | 36 Processes | 72 Threads |",
                  "HVD Device profiling | 1 Hostnames | 12 Processes | 36 Threads | 6 Devices | 12 Subdevices |"));
}

TEST(ImportedTable, NamesEachDirtyCellOfTheFileAndTheReason) {
  EXPECT_THAT(
      thapi_table().remarks,
      ElementsAre(
          "[1] CCL at 2 MiB: host (304.39ms | 11400) and device (1.86min | 391994) look swapped: at the other sizes "
          "the host has about 389583 calls and the device 11400",
          "[2] CCL at 512 MiB: all cells are empty: the run failed, or was not made",
          "[3] HVD at 2 MiB: host (292.52ms | 12000) and device (2.14min | 331795) look swapped: at the other sizes "
          "the host has about 339299 calls and the device 12000",
          "[4] HVD at 64 MiB: few calls: 145796 host calls (usually 339299), 4308 device calls (usually 12000), 3458 "
          "traffic calls (usually 9026); the run probably ended early",
          "[5] HVD at 128 MiB: few calls: 64255 host calls (usually 339299), 38 traffic calls (usually 9026); the run "
          "probably ended early",
          "[6] HVD at 128 MiB: no device values, though other parts have some",
          "[7] HVD at 256 MiB: few calls: 64257 host calls (usually 339299), 38 traffic calls (usually 9026); the run "
          "probably ended early",
          "[8] HVD at 256 MiB: no device values, though other parts have some",
          "[9] HVD at 512 MiB: \"1.04s\" is a time in a column of bytes (traffic); with 63372 calls it is like the "
          "host at 128 MiB (1.54s | 64255), and the host is empty here",
          "[10] HVD at 512 MiB: no host and no device values, though other parts have some",
          "[11] MPI4py at 2 MiB: host (1.24s | 3000) and device (3.06s | 894462) look swapped: at the other sizes the "
          "host has about 852339 calls and the device 3000"));
}

TEST(ImportedTable, MarksTheDirtyCellsOnly) {
  const ComparisonTable table = thapi_table();
  std::size_t marked = 0;
  for (const ComparisonColumn& column : table.columns) {
    for (const auto& [bytes, cells] : column.by_size) {
      for (const ComparisonCell& one : cells) marked += one.mark.empty() ? 0 : 1;
    }
  }
  // Three swapped pairs, 3 empty cells of CCL and 2 + 2 of HVD, 3 + 2 + 2 with few calls, and the time among bytes.
  EXPECT_EQ(marked, 6U + 3 + 4 + 7 + 1);
  EXPECT_EQ(cell(table, 1, 512, Cost::traffic).mark, "[9]");
  EXPECT_EQ(cell(table, 1, 512, Cost::traffic).amount_text(Cost::traffic), "1.04s [9]");
  EXPECT_EQ(cell(table, 2, 2, Cost::device).mark, "[11]");
}

TEST(ImportedTable, OfACleanTableHasNoRemark) {
  const ComparisonTable table = imported_table(
      "| | | Total CPU Time | Total CPU calls | | | Total CPU Time | Total CPU calls |\n"
      "|---|---|---|---|---|---|---|---|\n"
      "| 64 KiB | a | 1.00ms | 10 | | b | 2.00ms | 12 |\n"
      "| 1M | a | 5.00s | 11 | | b | 20.00s | 13 |\n",
      "t");
  EXPECT_THAT(table.remarks, IsEmpty());
  EXPECT_THAT(table.ops, IsEmpty());
  EXPECT_THAT(table.sizes(), ElementsAre(64 * 1024, kMiB));
}

TEST(ImportedTable, ReadsWhatPrintWrites) {
  const ComparisonTable table = thapi_table();
  ReportPrinter printer(ReportFormat::markdown, Terminal(-1));
  ComparisonTable clean = table;
  for (ComparisonColumn& column : clean.columns) {
    for (auto& [bytes, cells] : column.by_size) {
      for (ComparisonCell& one : cells) one.mark.clear();
    }
  }
  print(printer, clean);
  const ComparisonTable again = imported_table(printer.text(), "again");
  EXPECT_EQ(again.remarks, table.remarks);
  EXPECT_EQ(again.columns[1].header_lines, table.columns[1].header_lines);
  EXPECT_EQ(cell(again, 1, 512, Cost::traffic).text, "1.04s");
}

TEST(ImportedTable, RemarksOnLinesThatCannotBeRead) {
  const ComparisonTable table = imported_table(
      "| | | Total Mem Bytes | Total Mem calls |\n"
      "| 1 | a | 1.00GB | 10 |\n"
      "| big | a | 1.00GB | 10 |\n"
      "| 1 | a | 2.00GB | 10 |\n"
      "| 2 | a | 1.00 parsec | 10 |\n"
      "| 4 | a | 1.00GB | ten |\n"
      "| 8 | | 1.00GB | 10 |\n"
      "| 16 | a |\n",
      "t");
  EXPECT_THAT(table.remarks, ElementsAre("line 3: \"big\" is no size; the row is left out",
                                         "line 4: a has 1 MiB for the second time in this part; it is left out",
                                         "line 6: a: \"ten\" is no number of calls; it is left out",
                                         "line 7: \"1.00GB\" has no name of a backend before it; it is left out",
                                         "[1] a at 2 MiB: \"1.00 parsec\" is no amount with a unit of bytes (traffic)",
                                         "[2] a at 4 MiB: traffic has an amount without calls",
                                         "[3] a at 16 MiB: all cells are empty: the run failed, or was not made"));
}

TEST(ImportedTable, ErrorsNameFileAndLine) {
  EXPECT_THAT(error_of("# No table\n\nprose | with a bar |\n"), HasSubstr("t.md: no comparison table is in it"));
  EXPECT_THAT(error_of(""), HasSubstr("t.md: no comparison table"));
  EXPECT_THAT(error_of("| | | Total CPU Time | Total CPU calls |\n"), HasSubstr("no comparison table"));
  EXPECT_THAT(error_of("text\n| 1 | a\n| 2 | b |\n"), HasSubstr("t.md, line 2: the row of the table has no end"));
  EXPECT_THAT(error_of("| 1 | a"), HasSubstr("t.md, line 1: the row of the table has no end"));
  EXPECT_THROW((void)read_imported_table("/nonexistent/t.md"), Error);
}

TEST(MarkdownRows, AreJoinedOverLinesAndRulesLeftOut) {
  const std::vector<MarkdownRow> rows = markdown_rows("a\n| x | y |\n|---|:-:|\n|\n\n  1\n 2 | 3\\|4 |\r\n", "t");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].text, "a");
  EXPECT_THAT(rows[1].cells, ElementsAre("x", "y"));
  EXPECT_THAT(rows[2].cells, ElementsAre("1 2", "3|4"));
  EXPECT_EQ(rows[2].line, 4U);
}

}  // namespace
}  // namespace tutti::tools
