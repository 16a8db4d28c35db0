#include "sweep/show/sweep_table.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "support/system/pseudo_terminal.hpp"
#include "support/system/temporary_folder.hpp"
#include "sweep/other_sweeps.hpp"
#include "sweep/plan/sweep_targets.hpp"
#include "sweep/show/sweep_chart.hpp"
#include "sweep/sweep_outputs.hpp"
#include "sweep/sweep_runs.hpp"
#include "text/progress.hpp"
#include "text/text.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

void measure(SweepResults& results, const SweepCell& cell, const std::string& backend, int ranks, double time) {
  add_run(results.rows, make_row(cell, backend, CellShape(cell, results.type, ranks), std::vector<double>{time}));
}

SweepResults example() {
  SweepResults results;
  results.machine = "CPU, 2 cores, AVX2";
  results.ranks = 2;
  results.ops = {OpKind::allreduce};
  results.sizes = {1 << 20};
  results.backends = {{.backend = "native"}, {.backend = "ccl"}};
  return results;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(SweepTable, RunsHaveTheIntervalOfTheirMedian) {
  SweepResults results = example();
  results.head.settings = {"runs=7", "seed=5"};
  const SweepCell cell{OpKind::allreduce, 1 << 20};
  for (const double time : {100.0, 104.0, 101.0, 102.0, 103.0, 99.0, 105.0}) measure(results, cell, "native", 2, time);
  measure(results, cell, "ccl", 2, 200);
  const std::string table = to_table(results, Terminal(-1));
  EXPECT_TRUE(has(table, "     1 MiB    102 us   2.9%     10.3*    200 us      -     5.24 \n")) << table;
  EXPECT_TRUE(has(table, "+-: half the width of the 98.4 %\n  confidence interval of the median of 7 runs")) << table;
  EXPECT_TRUE(has(table, "7 runs, random order with --seed 5")) << table;
}

TEST(SweepTable, EachNumberOfRanksAndPlaceHasATable) {
  SweepResults results = example();
  measure(results, {OpKind::allreduce, 1 << 20, true}, "native", 4, 300);
  measure(results, {OpKind::allreduce, 1 << 20}, "native", 2, 100);
  measure(results, {OpKind::allreduce, 1 << 20}, "native", 1, 50);
  const std::string table = to_table(results, Terminal(-1));
  EXPECT_TRUE(has(table, "\n1, 2, 4 ranks, float32, host memory\n")) << table;
  const std::size_t one = table.find("\nallreduce (sum), 1 rank\n");
  const std::size_t two = table.find("\nallreduce (sum), 2 ranks\n");
  const std::size_t four = table.find("\nallreduce (sum), in place, 4 ranks\n");
  ASSERT_NE(four, std::string::npos) << table;
  EXPECT_LT(one, two);
  EXPECT_LT(two, four);
  EXPECT_LT(table.find("50.0 us     21.0 "), two) << "with one rank the size by the time\n" << table;
  EXPECT_LT(four, table.find("300 us")) << table;
}

TEST(SweepTable, NotesNameLibrariesThatServedAndEmulation) {
  SweepResults results = example();
  results.sizes = {1 << 20, 2 << 20, 4 << 20};
  for (const std::uint64_t size : results.sizes) {
    measure(results, {OpKind::allreduce, size}, "native", 2, 100);
    results.rows.back().served_by = "native";
    measure(results, {OpKind::allreduce, size}, "ccl", 2, 100);
    results.rows.back().served_by = size > (2 << 20) ? "mpi:openmpi" : "ccl";
    results.rows.back().emulated = "reduce and broadcast";
    results.rows.back().note = "emulated by reduce and broadcast";
  }
  const std::string table = to_table(results, Terminal(-1));
  EXPECT_TRUE(has(table, "\n  ccl, allreduce (sum): served by ccl up to 2 MiB, mpi:openmpi from 4 MiB\n")) << table;
  EXPECT_TRUE(has(table, "\n  ccl, allreduce (sum): emulated by reduce and broadcast\n")) << table;
  EXPECT_FALSE(has(table, "native, allreduce (sum): served")) << "a backend that serves itself needs no note\n"
                                                              << table;
}

TEST(SweepTable, WideTablesAreSplit) {
  SweepResults results = example();
  results.backends.clear();
  for (const char* name : {"native", "ccl", "nccl", "mpi:openmpi", "mpi:mpich", "mpi:intel"}) {
    results.backends.push_back({.backend = name});
    for (const double time : {1.0, 2.0}) measure(results, {OpKind::allreduce, 1 << 20}, name, 2, time);
  }
  const test::PseudoTerminal pseudo(60);
  setenv("NO_COLOR", "1", 1);
  const std::string table = to_table(results, Terminal(pseudo.descriptor()));
  unsetenv("NO_COLOR");
  for (const std::string& line : split(table, '\n')) EXPECT_LE(line.size(), 60U) << table;
  EXPECT_TRUE(has(table, "mpi:intel")) << table;
}

TEST(SweepChart, BarsAreProportionalAndFitTheWidth) {
  SweepResults results = example();
  measure(results, {OpKind::allreduce, 1 << 20}, "native", 2, 100);
  measure(results, {OpKind::allreduce, 1 << 20}, "ccl", 2, 200);
  measure(results, {OpKind::allreduce, 2 << 20}, "ccl", 2, 200);
  results.rows.back().status = "crashed: signal 11";
  const std::string chart = to_chart(results, Terminal(-1));
  const std::vector<std::string> lines = split(chart, '\n');
  ASSERT_EQ(lines.size(), 6U) << chart;
  const auto bar = [](const std::string& line) { return std::ranges::count(line, '#'); };
  EXPECT_NEAR(static_cast<double>(bar(lines[2])), 2.0 * static_cast<double>(bar(lines[3])), 1) << chart;
  EXPECT_TRUE(has(lines[4], "2 MiB  ccl     crashed: signal 11")) << chart;
  for (const std::string& line : lines) EXPECT_LE(line.size(), 100U) << chart;
  const auto grown = growing_chart(results, results.rows[0], Terminal(-1), 3);
  ASSERT_EQ(grown.size(), 3U);
  EXPECT_TRUE(has(grown[2], "crashed")) << "the last lines are kept";
}

TEST(ProgressLine, HasABarWhereThereIsRoom) {
  const ProgressStep step{.what = "native allreduce 1 MiB", .part = 0.5, .whole = 0.42, .left = 75};
  const base::Style plain(false);
  EXPECT_EQ(progress_line("sweep", step, plain, 100),
            "sweep 42 %  native allreduce 1 MiB  [##########..........]  1:15 left");
  EXPECT_EQ(progress_line("sweep", step, plain, 50), "sweep 42 %  native allreduce 1 MiB  1:15 left");
  EXPECT_EQ(progress_line("sweep", step, plain, 20), "sweep 42 %  native a");
  EXPECT_EQ(progress_line("sweep", {.what = "x", .part = -1, .whole = 0.05}, plain, 50), "sweep  5 %  x");
  EXPECT_TRUE(has(progress_line("sweep", step, base::Style(true), 100), "\033[36m##########\033[0m"));
}

TEST(SweepOutputs, EachIsOneRowOfTheTable) {
  const test::TemporaryFolder folder;
  const auto text = [](const SweepResults& results, const Terminal&) { return results.machine; };
  SweepOutputs outputs(
      {{"--good", "", text}, {"--full", "", text}, {"--show", "", text, false}, {"--other", "", text}});
  const std::unique_ptr<CLI::App> tutti = make_command_line();
  CLI::App& command = add_command(*tutti, {.name = "sweep", .summary = "", .usage = "", .description = ""});
  outputs.add_options(command);
  Invocation invocation;
  parse(*tutti, {"sweep", "--full", "/dev/full", "--good", folder.file("good"), "--show"}, invocation);
  outputs.open();
  const std::vector<std::string> errors = outputs.write(example());
  ASSERT_EQ(errors.size(), 1U) << "a full disk does not keep the other file from being written";
  EXPECT_EQ(errors[0], "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(std::filesystem::exists(folder.file("good")));
  EXPECT_EQ(outputs.printed(example(), Terminal(-1)), "\nCPU, 2 cores, AVX2");
  EXPECT_FALSE(outputs.is_given("--other"));
  EXPECT_THROW(outputs.set_file("--other", folder.path()), UsageError);
  outputs.set_file("--other", "/proc/none/file");
  EXPECT_THROW(outputs.open(), UsageError);
}

TEST(OtherSweeps, BothKnowOfEachOther) {
  EventLoop loop;
  const OtherSweeps first(loop);
  const std::size_t before = first.processes().size();  // sweeps of other users of this machine
  const pid_t child = fork();
  if (child == 0) {
    EventLoop its_loop;
    const OtherSweeps second(its_loop);
    const auto& found = second.processes();
    _exit(std::ranges::find(found, getppid()) != found.end() ? 7 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7) << "the second sweep knows of the first";
  loop.wait(Clock::now() + std::chrono::seconds(20));
  EXPECT_GT(first.processes().size(), before);
  EXPECT_NE(std::ranges::find(first.processes(), child), first.processes().end()) << "and the first of the second";
}

TEST(SweepTargets, APartialFileIsNamedByTheTime) {
  EXPECT_EQ(partial_name({.begun = "2026-11-19T02:30:05Z"}), "tutti-sweep-20261119-023005.json");
}

}  // namespace
}  // namespace tutti::tools
