#include "text/text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "analysis/statistics.hpp"
#include "launch/line_prefixer.hpp"
#include "support/system/pseudo_terminal.hpp"
#include "sweep/plan/sizes.hpp"
#include "text/report.hpp"
#include "text/table.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

using Sizes = std::vector<std::uint64_t>;

TEST(Sizes, RangeDoublesUpToTheLast) {
  EXPECT_EQ(parse_sizes("1K..8K"), (Sizes{1024, 2048, 4096, 8192}));
  EXPECT_EQ(parse_sizes("3K..20K"), (Sizes{3072, 6144, 12288}));
  EXPECT_EQ(parse_sizes("1M..512M").size(), 10U);
  EXPECT_EQ(parse_sizes("1M..512M").back(), 512ULL << 20);
}

TEST(Sizes, SingleAndLists) {
  EXPECT_EQ(parse_sizes("1M"), (Sizes{1 << 20}));
  EXPECT_EQ(parse_sizes("4G"), (Sizes{4ULL << 30}));
  EXPECT_EQ(parse_sizes("64,8,64,16..32"), (Sizes{8, 16, 32, 64}));
}

TEST(Sizes, BadOnesSayWhatIsAccepted) {
  for (const char* text :
       {"", "x", "1M..", "..1M", "8K..1K", "0", "1,,2", "1..2..3", "-1", "1Q", "99999999999999999999", "1M,"}) {
    try {
      (void)parse_sizes(text);
      ADD_FAILURE() << '"' << text << "\" was accepted";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("1M..512M"), std::string::npos) << error.what();
    }
  }
}

TEST(Statistics, PercentileIsTheNearestRank) {
  std::vector<double> samples;
  for (int i = 100; i >= 1; --i) samples.push_back(i);
  EXPECT_EQ(percentile(samples, 0.0), 1);
  EXPECT_EQ(percentile(samples, 0.5), 50);
  EXPECT_EQ(percentile(samples, 0.99), 99);
  EXPECT_EQ(percentile(samples, 1.0), 100);
  EXPECT_EQ(percentile(std::array{7.0}, 0.5), 7);
  EXPECT_EQ(percentile(std::array{3.0, 1.0, 2.0}, 0.99), 3);
}

TEST(Statistics, AnIterationLastsAsLongAsItsSlowestRank) {
  const std::vector<std::vector<double>> ranks = {{1, 9, 3}, {4, 2, 3}};
  EXPECT_EQ(slowest_per_iteration(ranks), (std::vector<double>{4, 9, 3}));
  const std::vector<std::vector<double>> uneven = {{1, 9}, {4}};
  EXPECT_TRUE(slowest_per_iteration(uneven).empty());
}

TEST(LinePrefixer, KeepsAnUnfinishedLine) {
  LinePrefixer prefixer("[2] ");
  EXPECT_EQ(prefixer.feed("hel"), "");
  EXPECT_EQ(prefixer.feed("lo\nworld\n\nre"), "[2] hello\n[2] world\n[2] \n");
  EXPECT_EQ(prefixer.feed("st"), "");
  EXPECT_EQ(prefixer.finish(), "[2] rest\n");
  EXPECT_EQ(prefixer.finish(), "");
}

TEST(LinePrefixer, WithoutPrefixTheBytesStayAsTheyAre) {
  LinePrefixer plain("");
  EXPECT_EQ(plain.feed("a\nb"), "a\n");
  EXPECT_EQ(plain.finish(), "b");
}

TEST(LinePrefixer, AnEndlessLineIsCut) {
  LinePrefixer prefixer("> ");
  const std::string out = prefixer.feed(std::string(3 << 20, 'x'));
  EXPECT_GT(out.size(), 3U << 20);
}

TEST(Text, ThreeSignificantDigits) {
  EXPECT_EQ(three_digits(0), "0");
  EXPECT_EQ(three_digits(0.01234), "0.0123");
  EXPECT_EQ(three_digits(4.5678), "4.57");
  EXPECT_EQ(three_digits(9.996), "10.0");
  EXPECT_EQ(three_digits(100), "100");
  EXPECT_EQ(three_digits(1234), "1230");
}

TEST(Text, TimesAndBytesInTheUnitThatReadsBest) {
  EXPECT_EQ(format_time_us(0.42), "0.420 us");
  EXPECT_EQ(format_time_us(999.4), "999 us");
  EXPECT_EQ(format_time_us(999.6), "1.00 ms");
  EXPECT_EQ(format_time_us(2.5e6), "2.50 s");
  EXPECT_EQ(format_bytes(512ULL << 20), "512 MiB");
  EXPECT_EQ(format_bytes(3000), "3000 B");
  EXPECT_EQ(format_bytes_rounded(23ULL * 1000 * 1000 * 1000), "21.4 GiB");
  EXPECT_EQ(format_clock(65), "1:05");
  EXPECT_EQ(format_clock(3700), "1:01:40");
}

TEST(Text, NearestFindsTypingMistakes) {
  constexpr std::array<std::string_view, 3> names = {"run", "sweep", "info"};
  EXPECT_EQ(nearest("swep", names), "sweep");
  EXPECT_EQ(nearest("inof", names), "info");
  EXPECT_EQ(nearest("sw", names), "sweep");
  EXPECT_EQ(nearest("frobnicate", names), "");
}

TEST(Text, SplitAndWrap) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_TRUE(split("", ',').empty());
  EXPECT_EQ(wrap("one two three", 7), (std::vector<std::string>{"one two", "three"}));
  EXPECT_EQ(wrap("averylongword x", 4), (std::vector<std::string>{"averylongword", "x"}));
}

TEST(Terminal, HasColourOnlyWhereSomebodySeesIt) {
  const test::PseudoTerminal pseudo(80);
  const auto bold = [&] { return Terminal(pseudo.descriptor()).bold("x"); };
  setenv("TERM", "xterm", 1);
  EXPECT_EQ(bold(), "\033[1mx\033[0m");
  EXPECT_EQ(Terminal(-1).bold("x"), "x");
  for (const char* variable : {"NO_COLOR", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"}) {
    setenv(variable, "1", 1);
    EXPECT_EQ(bold(), "x") << variable;
    unsetenv(variable);
  }
}

TEST(Report, NothingIsWiderThanTheTerminal) {
  std::vector<MatrixColumn> columns = {{"operation", {"allreduce", "barrier"}}};
  for (const char* title : {"native", "ccl", "mpi.openmpi", "nccl"}) {
    columns.push_back({title, {"11 of 11 reductions", concat(title, " does it")}});
  }
  for (const std::size_t width : {40, 80, 200}) {
    Report report(Terminal(-1), width);
    report.heading("Operations", "a remark that is as long as that of the operations is; it does not fit 80 columns");
    report.matrix(columns);
    std::size_t titles = 0;
    for (const std::string& line : split(report.text(), '\n')) {
      EXPECT_LE(line.size(), width) << report.text();
      titles += line.starts_with("  operation") ? 1 : 0;
    }
    EXPECT_EQ(titles, width == 40 ? 4U : width == 80 ? 2U : 1U) << report.text();
    for (const char* title : {"native does it", "ccl does it", "mpi.openmpi does it", "nccl does it", "remark"}) {
      EXPECT_NE(report.text().find(title), std::string::npos) << report.text();
    }
  }
}

TEST(Table, AlignsAndWrapsTheLastColumn) {
  Table table({{"name"}, {"n", Align::right}, {"text"}});
  table.add({"a", "1", "one two three four five six seven eight"});
  table.add({"longer", "100", "x"});
  EXPECT_EQ(table.render(Terminal(-1), 40),
            "  name      n  text\n"
            "  ------  ---  -------------------------\n"
            "  a         1  one two three four five\n"
            "               six seven eight\n"
            "  longer  100  x\n");
}

}  // namespace
}  // namespace tutti::tools
