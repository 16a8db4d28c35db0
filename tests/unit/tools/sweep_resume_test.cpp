#include "sweep/plan/sweep_resume.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "results/results_json.hpp"
#include "support/system/temporary_folder.hpp"
#include "sweep/plan/sweep_options.hpp"
#include "sweep/sweep_runs.hpp"
#include "text/output_file.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

using Words = std::vector<std::string>;

SweepResults example() {
  SweepOptions options;
  options.sizes = {1024, 2048};
  options.ranks = {2};
  options.runs = 2;
  options.seconds_per_cell = 0.5;
  SweepResults results;
  results.head = {.tutti = "0.1", .hostname = "node1", .cpu = "a CPU", .cores = 2, .settings = settings_of(options)};
  results.head.settings.emplace_back("timeout-per-cell=60 s");
  results.machine = "a CPU, 2 cores, ";
  results.ops = options.ops;
  results.sizes = options.sizes;
  results.ranks = 2;
  results.backends = {{.backend = "native", .version = "0.1"}};
  for (const std::uint64_t size : results.sizes) {
    const SweepCell cell{OpKind::allreduce, size};
    const CellShape shape(cell, DataType::float32, 2);
    for (const double time : {100.0, 110.0})
      add_run(results.rows, make_row(cell, "native", shape, std::vector<double>{time}));
  }
  return results;
}

/// The file of --resume, read into the options of another command line.
struct Resumed {
  explicit Resumed(const std::string& json, const Words& words = {}) {
    const std::string path = folder.file("old.json");
    write_file_atomically(path, json);
    CLI::App& command = add_command(*tutti, sweep_text());
    add_sweep_options(command, options);
    Words all = {"sweep"};
    all.insert(all.end(), words.begin(), words.end());
    Invocation invocation;
    parse(*tutti, all, invocation);
    try {
      results = resume_from(path, command);
    } catch (const UsageError& error) {
      problem = error.what();
    }
  }
  test::TemporaryFolder folder;
  std::unique_ptr<CLI::App> tutti = make_command_line();
  SweepOptions options;
  SweepResults results;
  std::string problem;
};

std::string edited(std::string_view from, std::string_view to) {
  std::string json = to_json(example());
  const std::size_t at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  json.replace(at, from.size(), to);
  return json;
}

TEST(SweepResume, TheFileGivesTheSettingsAndTheRowsThatAreGood) {
  SweepResults earlier = example();
  earlier.rows[1].status = "hung > 60 s";
  const Resumed resumed(to_json(earlier), {"--runs", "3"});
  EXPECT_EQ(resumed.problem, "");
  EXPECT_EQ(resumed.options.sizes, (std::vector<std::uint64_t>{1024, 2048}));
  EXPECT_EQ(resumed.options.runs, 3) << "the command line comes first";
  EXPECT_EQ(resumed.options.seconds_per_cell, 0.5);
  ASSERT_EQ(resumed.results.rows.size(), 1U);
  EXPECT_EQ(resumed.results.rows[0].cell.bytes, 1024U);
}

TEST(SweepResume, FilesThatWereChangedByHandAreRefused) {
  const auto problem = [](std::string_view from, std::string_view to) { return Resumed(edited(from, to)).problem; };
  EXPECT_NE(
      problem("\"time_us_p50\": 105.0", "\"time_us_p50\": 10.5").find("rows[0]: \"time_us_p50\" is not the median"),
      std::string::npos);
  EXPECT_NE(problem("\"bytes\": 1024", "\"bytes\": 1000").find("rows[0]: \"bytes\" is 1000 where"), std::string::npos);
  EXPECT_NE(problem("\"time_us_min\": 100.0", "\"time_us_min\": 500.0").find("\"time_us_min\" is above"),
            std::string::npos);
  EXPECT_NE(problem("\"op\": \"allreduce\"", "\"op\": \"barrier\"").find("a sweep does not measure barrier"),
            std::string::npos);
  EXPECT_NE(problem("runs=2", "runs=two").find("setting \"runs=two\""), std::string::npos)
      << problem("runs=2", "runs=two");
  EXPECT_NE(problem("\"rows\"", "\"lines\"").find("\"rows\" is missing"), std::string::npos);
  EXPECT_NE(Resumed("{").problem.find("not JSON, or cut off"), std::string::npos);
  EXPECT_NE(problem("seconds-per-cell=0.5", "speed=0.5").find("does not tell the settings"), std::string::npos);
  EXPECT_NE(problem("\"version\": 2", "\"version\": 99").find("results of version 99"), std::string::npos);
}

TEST(SweepResume, AllDifferentConditionsAreNamed) {
  const SweepResults earlier = example();
  EXPECT_NO_THROW(require_same_conditions("old.json", earlier, example()));
  SweepResults now = example();
  now.head.tutti = "0.2";
  now.head.hostname = "node2";
  now.machine = "another CPU, 4 cores, ";
  now.head.settings = {"dtype=float64", "seconds-per-cell=0.5", "concurrent=1", "device=host", "TUTTI_STRICT=1"};
  now.backends[0].version = "0.2";
  try {
    require_same_conditions("old.json", earlier, now);
    ADD_FAILURE() << "different conditions were accepted";
  } catch (const UsageError& error) {
    const std::string text = error.what();
    for (const char* part :
         {"the sweep in old.json was made under other conditions", "version of tutti: 0.1 in the file, 0.2 now",
          "host: node1 in the file, node2 now", "processor: a CPU, 2 cores,  in the file, another CPU",
          "--dtype: float32 in the file, float64 now", "TUTTI_STRICT: none in the file, 1 now",
          "version of native: 0.1 in the file, 0.2 now"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
    }
    EXPECT_EQ(text.find("--runs"), std::string::npos) << "more runs can be added";
    EXPECT_EQ(text.find("--device"), std::string::npos) << "the device is the same";
  }
}

TEST(SweepResume, TheOldRowsStandBesideNewBackendsAndSizes) {
  SweepResults now = example();
  now.rows.clear();
  now.sizes = {2048, 8192};
  now.backends = {{.backend = "ccl"}};
  continue_from(now, example());
  EXPECT_EQ(now.sizes, (std::vector<std::uint64_t>{1024, 2048, 8192}));
  ASSERT_EQ(now.backends.size(), 2U);
  EXPECT_EQ(now.backends[1].backend, "native");
  EXPECT_EQ(now.rows.size(), 2U);
}

}  // namespace
}  // namespace tutti::tools
