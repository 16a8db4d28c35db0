#include "sweep/plan/sweep_options.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "sweep/plan/sizes.hpp"
#include "sweep/show/sweep_titles.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

using Words = std::vector<std::string>;

/// A command line with the options of the sweep alone.
struct CommandLine {
  CommandLine() { add_sweep_options(*command, options); }
  void read(const Words& words) {
    Invocation invocation;
    Words all = {"sweep"};
    all.insert(all.end(), words.begin(), words.end());
    parse(*tutti, all, invocation);
  }
  std::unique_ptr<CLI::App> tutti = make_command_line();
  CLI::App* command = &add_command(*tutti, sweep_text());
  SweepOptions options;
};

std::string problem_with(const Words& words) {
  try {
    CommandLine().read(words);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(SweepOptions, ListsAreReadWithoutRepetition) {
  CommandLine line;
  line.read({"--ops", "allgather,allreduce,allgather", "--ranks", "4,1,4", "--in-place", "yes,no", "--concurrent", "2",
             "--runs", "7", "--seed", "18446744073709551615", "--soak", "10min"});
  EXPECT_EQ(line.options.ops, (std::vector<OpKind>{OpKind::allgather, OpKind::allreduce}));
  EXPECT_EQ(line.options.ranks, (std::vector<int>{4, 1}));
  EXPECT_EQ(line.options.in_place, (std::vector<bool>{true, false}));
  EXPECT_EQ(line.options.settings.concurrent, 2);
  EXPECT_EQ(line.options.runs, 7);
  EXPECT_EQ(line.options.seed, 18446744073709551615ULL);
  EXPECT_EQ(line.options.soak, std::chrono::minutes(10));
  CommandLine both;
  both.read({"--in-place", "both", "-n", "3"});
  EXPECT_EQ(both.options.in_place, (std::vector<bool>{false, true}));
  EXPECT_EQ(both.options.ranks, std::vector<int>{3});
}

TEST(SweepOptions, DefaultsAreThoseOfTheHelp) {
  const SweepOptions options;
  EXPECT_EQ(options.ops, std::vector<OpKind>{OpKind::allreduce});
  EXPECT_EQ(options.sizes, parse_sizes("1M..512M"));
  ASSERT_EQ(options.ranks.size(), 1U);
  EXPECT_GE(options.ranks.front(), 2);
  EXPECT_LE(options.ranks.front(), 4);
  EXPECT_EQ(options.in_place, std::vector<bool>{false});
  EXPECT_FALSE(options.seed) << "sizes ascend";
}

TEST(SweepOptions, BadValuesTellWhatIsAccepted) {
  const auto expect_problem = [](const Words& words, const std::string& part) {
    EXPECT_NE(problem_with(words).find(part), std::string::npos) << problem_with(words);
  };
  expect_problem({"--ops", "allreduced"}, "operation \"allreduced\" cannot be measured; accepted: allreduce, ");
  expect_problem({"--ops", "barrier"}, "cannot be measured");
  expect_problem({"--ops", ""}, "no operation is given");
  expect_problem({"--ranks", "0"}, "\"0\" is not a number of ranks; accepted: 1 to 1024");
  expect_problem({"--ranks", "2,"}, "\"\" is not a number of ranks");
  expect_problem({"--ranks", "2x"}, "\"2x\" is not a number of ranks");
  expect_problem({"--in-place", "maybe"}, "\"maybe\" is neither no nor yes nor both");
  expect_problem({"--runs", "0"}, "--runs");
  expect_problem({"--concurrent", "0"}, "--concurrent");
  expect_problem({"--seed", "-1"}, "\"-1\" is not a seed");
  expect_problem({"--soak", "10m"}, "\"10m\" is not a positive duration; accepted: 30 (seconds), 250ms, 90s, 5min");
  expect_problem({"--compute", "2x"}, "\"2x\" is not a positive duration");
  expect_problem({"--dtype", "float"}, "unknown data type \"float\"");
  expect_problem({"--backends", "warp"}, "warp");
}

TEST(SweepOptions, BitsAreToldFromBytes) {
  EXPECT_EQ(parse_sizes("1MB,3KiB,512B"), (std::vector<std::uint64_t>{512, 3072, 1 << 20}));
  EXPECT_EQ(parse_sizes("1MiB..4MB"), (std::vector<std::uint64_t>{1 << 20, 2 << 20, 4 << 20}));
  for (const char* bits : {"1Mb", "1Mib", "1Mbit", "1Mbits"}) {
    EXPECT_NE(
        problem_with({"--sizes", bits}).find("is a number of bits, and sizes are in bytes; write 1M or 1MB for 1 MiB"),
        std::string::npos)
        << problem_with({"--sizes", bits});
  }
  for (const char* none : {"1iB", "iB", "B", "b", "1BB", "MB"})
    EXPECT_NE(problem_with({"--sizes", none}).find("is not a size"), std::string::npos) << none;
}

TEST(SweepOptions, SettingsOfOneSweepConfigureAnother) {
  CommandLine line;
  line.read({"--ops",
             "allgather",
             "--sizes",
             "1K,3K",
             "--ranks",
             "1,2",
             "--in-place",
             "yes",
             "--dtype",
             "bfloat16",
             "--runs",
             "3",
             "--seed",
             "9",
             "--iterations",
             "5",
             "--compute",
             "2ms",
             "--seconds-per-cell",
             "250ms",
             "--backends",
             "native"});
  const Words settings = settings_of(line.options);
  EXPECT_EQ(setting_value(settings, "ranks"), "1,2");
  EXPECT_EQ(setting_value(settings, "sizes"), "1024,3072");
  EXPECT_EQ(setting_value(settings, "seconds-per-cell"), "0.25");
  EXPECT_EQ(setting_value(settings, "compute"), "0.002");
  CommandLine other;
  other.read({"--runs", "4"});
  apply_settings(*other.command, settings);
  EXPECT_EQ(other.options.runs, 4) << "the command line comes first";
  other.options.runs = 3;
  EXPECT_EQ(settings_of(other.options), settings);
}

TEST(SweepOptions, SettingsThatAreNoneAreNamed) {
  for (const char* setting : {"runs=many", "runs", "speed=7", "ops=walk"}) {
    CommandLine line;
    line.read({});
    try {
      apply_settings(*line.command, {setting});
      ADD_FAILURE() << setting << " was accepted";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(setting), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tutti::tools
