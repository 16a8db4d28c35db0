// Tables of operations by class of size, against those that users of Horovod have made.
#include "report/size_table.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace tutti::tools {
namespace {

constexpr double kMegabyte = 0x1p20;

/// `count` operations of `megabytes` each.
void add(base::SizeHistogram& sizes, std::uint64_t count, double megabytes, double seconds) {
  base::add_operations(sizes, static_cast<std::uint64_t>(megabytes * kMegabyte), count, seconds * 1e6);
}

std::vector<std::string> texts(const std::vector<ReportCell>& row) {
  std::vector<std::string> texts;
  for (const ReportCell& cell : row) texts.push_back(cell.text);
  return texts;
}

// Two rows of VGG-16 on 4 ranks. The rates there are means of rates, here they are those of the sums.
TEST(SizeTable, GivesTheFiguresOfHandMadeTables) {
  base::SizeHistogram sizes;
  add(sizes, 300, 64, 21.10);
  add(sizes, 300, 392, 128.02);
  const double factor = rate_factor(RateKind::bus, OpKind::allreduce, 4);
  EXPECT_EQ(factor, 1.5);
  const ReportTable table = size_table(OpKind::allreduce, std::vector<NamedSizes>{{"", &sizes}}, factor);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(texts(table.rows[0]),
            (std::vector<std::string>{"(60MB, 70MB]", "300", "64.00", "10919.43", "21.10", "70.33", "14.15%"}));
  EXPECT_EQ(table.rows[1][0].text, "(350MB, 400MB]");
  EXPECT_NEAR(std::atof(table.rows[1][3].raw.c_str()), 11028.88, 11028.88 * 0.001);
  EXPECT_NEAR(std::atof(table.rows[1][5].raw.c_str()), 426.75, 0.1);
}

TEST(SizeTable, PlainRatesAreWithoutTheFactor) {
  base::SizeHistogram sizes;
  add(sizes, 1, 1, 8e-3);
  const double factor = rate_factor(RateKind::plain, OpKind::allreduce, 4);
  EXPECT_EQ(megabits_per_second(sizes.begin()->second, factor), 1000);
  EXPECT_EQ(megabits_per_second({}, factor), 0);
}

TEST(SizeTable, PutsRunsSideBySide) {
  base::SizeHistogram before;
  base::SizeHistogram after;
  add(before, 2, 0.5, 1);
  add(after, 1, 5, 1);
  add(after, 3, 0.5, 3);
  const ReportTable table =
      size_table(OpKind::allreduce, std::vector<NamedSizes>{{"before", &before}, {"after", &after}}, 1);
  ASSERT_EQ(table.columns.size(), 13u);
  EXPECT_EQ(table.columns[1].title, "count before");
  EXPECT_EQ(table.columns[12].title, "share after");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0][1].text, "2");
  EXPECT_EQ(table.rows[0][7].text, "3");
  EXPECT_EQ(table.rows[0][12].text, "75.00%");
  EXPECT_EQ(table.rows[1][1].text, "");
  EXPECT_EQ(table.rows[1][7].text, "1");
}

}  // namespace
}  // namespace tutti::tools
