#include "report/comparison_table.hpp"

#include <gtest/gtest.h>

#include "analysis/invented_results.hpp"

namespace tutti::tools {
namespace {

using test::failed_row;
using test::kMiB;
using test::results_of;
using test::row;

SweepRow counted(SweepRow row, const CellCounts& counts) {
  row.counts = counts;
  return row;
}

/// Two backends: one on devices, one that failed at the larger size.
SweepResults compared() {
  SweepResults results =
      results_of({counted(row("ccl", 100), {.calls = 10,
                                            .host_calls = 350753,
                                            .host_time_us = 111e6,
                                            .device_calls = 10200,
                                            .device_time_us = 300790,
                                            .traffic_calls = 7826,
                                            .traffic_bytes = 6'630'000'000}),
                  counted(row("mpi:intel", 100), {.calls = 10, .host_calls = 40, .host_time_us = 0.999}),
                  counted(row("ccl", 200, 2 * kMiB),
                          {.calls = 10, .host_calls = 2, .host_time_us = 1.5, .alloc_calls = 1, .alloc_bytes = 12}),
                  failed_row("mpi:intel", "wrong result", 2 * kMiB)});
  results.backends[0].hostnames = 1;
  results.backends[0].processes = 12;
  results.backends[0].threads = 24;
  results.backends[0].devices = 6;
  results.backends[0].subdevices = 12;
  return results;
}

std::string printed(ReportFormat format) { return comparison_text(compared(), format, Terminal(-1)); }

TEST(ComparisonTable, AsText) {
  EXPECT_EQ(printed(ReportFormat::text),
            "allreduce, float32, 4 ranks\n"
            "\n"
            "ccl BACKEND_CCL | 1 Hostnames | 12 Processes | 24 Threads |\n"
            "ccl Device profiling | 1 Hostnames | 12 Processes | 24 Threads | 6 Devices | 12 Subdevices |\n"
            "mpi:intel BACKEND_MPI_INTEL | not counted |\n"
            "\n"
            "Part 1: host time and calls\n"
            "\n"
            "   size  ccl time   calls  mpi:intel time  calls\n"
            "  -----  --------  ------  --------------  -----\n"
            "  1 MiB   1.85min  350753           999ns     40\n"
            "  2 MiB    1.50us       2          failed\n"
            "\n"
            "Part 2: device time and calls\n"
            "\n"
            "   size  ccl time  calls  mpi:intel time\n"
            "  -----  --------  -----  --------------\n"
            "  1 MiB  300.79ms  10200\n"
            "  2 MiB                           failed\n"
            "\n"
            "Part 3: explicit memory traffic, bytes and calls\n"
            "\n"
            "   size  ccl bytes  calls  mpi:intel bytes\n"
            "  -----  ---------  -----  ---------------\n"
            "  1 MiB     6.63GB   7826\n"
            "  2 MiB                             failed\n"
            "\n"
            "Part 4: allocated memory, bytes and calls\n"
            "\n"
            "   size  ccl bytes  calls  mpi:intel bytes\n"
            "  -----  ---------  -----  ---------------\n"
            "  1 MiB\n"
            "  2 MiB        12B      1           failed\n"
            "\n"
            "Remarks:\n"
            "  Totals of all ranks over 10 calls of the operation on each.\n");
}

TEST(ComparisonTable, AsMarkdown) {
  EXPECT_EQ(printed(ReportFormat::markdown),
            "## allreduce, float32, 4 ranks\n"
            "\n"
            "ccl BACKEND_CCL | 1 Hostnames | 12 Processes | 24 Threads |\n"
            "\n"
            "ccl Device profiling | 1 Hostnames | 12 Processes | 24 Threads | 6 Devices | 12 Subdevices |\n"
            "\n"
            "mpi:intel BACKEND_MPI_INTEL | not counted |\n"
            "\n"
            "### Part 1: host time and calls\n"
            "\n"
            "| | | Total CPU Time | Total CPU calls | | | Total CPU Time | Total CPU calls |\n"
            "| --- | --- | ---: | ---: | --- | --- | ---: | ---: |\n"
            "| 1 MiB | ccl | 1.85min | 350753 | | mpi:intel | 999ns | 40 |\n"
            "| 2 MiB | ccl | 1.50us | 2 | | mpi:intel | failed | |\n"
            "\n"
            "### Part 2: device time and calls\n"
            "\n"
            "| | | Total GPU Time | Total GPU calls | | | Total GPU Time | Total GPU calls |\n"
            "| --- | --- | ---: | ---: | --- | --- | ---: | ---: |\n"
            "| 1 MiB | ccl | 300.79ms | 10200 | | mpi:intel | | |\n"
            "| 2 MiB | ccl | | | | mpi:intel | failed | |\n"
            "\n"
            "### Part 3: explicit memory traffic, bytes and calls\n"
            "\n"
            "| | | Total Mem Bytes | Total Mem calls | | | Total Mem Bytes | Total Mem calls |\n"
            "| --- | --- | ---: | ---: | --- | --- | ---: | ---: |\n"
            "| 1 MiB | ccl | 6.63GB | 7826 | | mpi:intel | | |\n"
            "| 2 MiB | ccl | | | | mpi:intel | failed | |\n"
            "\n"
            "### Part 4: allocated memory, bytes and calls\n"
            "\n"
            "| | | Total Alloc Bytes | Total Alloc calls | | | Total Alloc Bytes | Total Alloc calls |\n"
            "| --- | --- | ---: | ---: | --- | --- | ---: | ---: |\n"
            "| 1 MiB | ccl | | | | mpi:intel | | |\n"
            "| 2 MiB | ccl | 12B | 1 | | mpi:intel | failed | |\n"
            "\n"
            "Remarks:\n"
            "\n"
            "- Totals of all ranks over 10 calls of the operation on each.\n");
}

TEST(ComparisonTable, AsCsv) {
  EXPECT_EQ(printed(ReportFormat::csv),
            "# allreduce, float32, 4 ranks\n"
            "part,unit,bytes,ccl amount,ccl calls,mpi:intel amount,mpi:intel calls\n"
            "host,ns,1048576,111000000000,350753,999,40\n"
            "host,ns,2097152,1500,2,,\n"
            "device,ns,1048576,300790000,10200,0,0\n"
            "device,ns,2097152,0,0,,\n"
            "traffic,B,1048576,6630000000,7826,0,0\n"
            "traffic,B,2097152,0,0,,\n"
            "allocation,B,1048576,0,0,0,0\n"
            "allocation,B,2097152,12,1,,\n"
            "\n"
            "# allreduce, float32, 4 ranks: remarks\n"
            "remark\n"
            "Totals of all ranks over 10 calls of the operation on each.\n");
}

TEST(ComparisonTable, LeavesOutPartsWithoutCalls) {
  const SweepResults results = results_of({counted(row("a", 1), {.calls = 3, .host_calls = 1, .host_time_us = 1})});
  const std::string text = comparison_text(results, ReportFormat::text, Terminal(-1));
  EXPECT_NE(text.find("Part 2: device time and calls: none.\n"), std::string::npos);
  EXPECT_NE(text.find("Part 4: allocated memory, bytes and calls: none.\n"), std::string::npos);
}

TEST(ComparisonTable, NamesBackendsWithDifferentNumbersOfCalls) {
  const SweepResults results = results_of({counted(row("a", 1), {.calls = 3}), counted(row("b", 1), {.calls = 5}),
                                           counted(row("b", 1, 2 * kMiB), {.calls = 2})});
  const std::vector<ComparisonTable> tables = comparison_tables(results);
  ASSERT_EQ(tables.size(), 1U);
  ASSERT_EQ(tables[0].remarks.size(), 1U);
  EXPECT_EQ(tables[0].remarks[0], "Totals of all ranks; the calls of the operation on each differ: a 3; b 2 to 5.");
}

TEST(ComparisonTable, OfResultsWithoutCountsSaysSo) {
  EXPECT_EQ(comparison_text(results_of({row("a", 1)}), ReportFormat::text, Terminal(-1)),
            "No cell was counted: there is nothing to compare.\n");
}

TEST(ComparisonTable, IsOnePerOperationAndRanks) {
  SweepRow two_ranks = counted(row("a", 1), {.calls = 1, .host_calls = 1});
  two_ranks.ranks = 2;
  const SweepResults results = results_of({counted(row("a", 1, kMiB, OpKind::broadcast), {.calls = 1, .host_calls = 1}),
                                           two_ranks, counted(row("a", 1), {.calls = 1, .host_calls = 1})});
  const std::vector<ComparisonTable> tables = comparison_tables(results);
  ASSERT_EQ(tables.size(), 3U);
  EXPECT_EQ(tables[0].title, "allreduce, float32, 2 ranks");
  EXPECT_EQ(tables[1].title, "allreduce, float32, 4 ranks");
  EXPECT_EQ(tables[2].title, "broadcast, float32, 4 ranks");
}

}  // namespace
}  // namespace tutti::tools
