// Runs, order, files and interruption of `tutti sweep`, with the native backend.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "support.hpp"

namespace tutti::test {
namespace {

using Json = nlohmann::json;

/// Two ranks and three calls per cell, so that a cell takes no time.
Words sweep(const Words& options) {
  Words words = {"sweep", "--backends", "native", "--ranks", "2", "--iterations", "3", "--seconds-per-cell", "50ms"};
  words.insert(words.end(), options.begin(), options.end());
  return words;
}

Json read_json(const std::string& path) { return Json::parse(read_file(path), nullptr, false); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string setting(const Json& document, const std::string& name) {
  for (const Json& entry : document["head"]["settings"]) {
    const std::string text = entry;
    if (text.starts_with(name + "=")) return text.substr(name.size() + 1);
  }
  return {};
}

TEST(SweepControl, RunsRanksAndPlacesGiveARowEach) {
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  const CommandResult result =
      run_tutti(sweep({"--ops", "allreduce,alltoall", "--sizes", "1K,2K", "--ranks", "1,2", "--in-place", "no,yes",
                       "--runs", "3", "--seed", "11", "--json", file}));
  EXPECT_EQ(result.code, 0) << result.output;
  const Json document = read_json(file);
  ASSERT_EQ(document["rows"].size(), 12U) << result.output;
  std::set<std::string> keys;
  for (const Json& row : document["rows"]) {
    EXPECT_EQ(row["status"], "ok") << row;
    ASSERT_EQ(row["run_medians_us"].size(), 3U) << row;
    std::vector<double> medians = row["run_medians_us"];
    std::ranges::sort(medians);
    EXPECT_EQ(row["time_us_p50"], medians[1]) << row;
    EXPECT_FALSE(row["host_calls"].is_null()) << "counted in the first run";
    keys.insert(row["op"].dump() + row["ranks"].dump() + row["in_place"].dump() + row["bytes"].dump());
  }
  EXPECT_EQ(keys.size(), 12U);
  EXPECT_EQ(setting(document, "seed"), "11");
  EXPECT_EQ(setting(document, "ranks"), "1,2");
  EXPECT_TRUE(has(result.output, "alltoall cannot work in place")) << result.output;
  EXPECT_TRUE(has(result.output, "3 runs, random order with --seed 11")) << result.output;
  EXPECT_TRUE(has(result.output, "\nallreduce (sum), in place, 2 ranks\n")) << result.output;
}

TEST(SweepControl, ResumeMeasuresWhatFailedAndKeepsTheRest) {
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  const CommandResult first =
      run_tutti(sweep({"--sizes", "1K..4K", "--json", file}), {{"TUTTI_SWEEP_FAULT", "crash@2048:native"}});
  EXPECT_EQ(first.code, 1) << first.output;
  const Json before = read_json(file);
  ASSERT_EQ(before["rows"].size(), 3U);
  const CommandResult second = run_tutti({"sweep", "--resume", file});
  EXPECT_EQ(second.code, 0) << second.output;
  EXPECT_TRUE(has(second.output, "1 cell of " + file + " is missing or failed")) << second.output;
  const Json after = read_json(file);
  ASSERT_EQ(after["rows"].size(), 3U);
  EXPECT_EQ(after["rows"][0], before["rows"][0]) << "this cell was not measured again";
  EXPECT_EQ(after["rows"][2], before["rows"][2]);
  EXPECT_EQ(after["rows"][1]["status"], "ok");
  const CommandResult third = run_tutti({"sweep", "--resume", file, "--sizes", "1K"});
  EXPECT_TRUE(has(third.output, "nothing is missing in " + file)) << third.output;
  EXPECT_EQ(read_json(file)["rows"], after["rows"]);
  const CommandResult other = run_tutti({"sweep", "--resume", file, "--dtype", "float64"});
  EXPECT_EQ(other.code, 2);
  EXPECT_TRUE(has(other.output, "--dtype: float32 in the file, float64 now")) << other.output;
}

TEST(SweepControl, ResumeRefusesFilesThatItCannotContinue) {
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  EXPECT_EQ(run_tutti(sweep({"--sizes", "1K", "--json", file})).code, 0);
  Json document = read_json(file);
  const auto problem = [&](const Json& changed) {
    std::ofstream(file) << changed;
    const CommandResult result = run_tutti({"sweep", "--resume", file});
    EXPECT_EQ(result.code, 2) << result.output;
    return result.output;
  };
  Json edited = document;
  edited["rows"][0]["time_us_p50"] = 1e9;
  EXPECT_TRUE(has(problem(edited), "the file was changed by hand")) << problem(edited);
  Json newer = document;
  newer["version"] = 99;
  EXPECT_TRUE(has(problem(newer), "results of version 99")) << problem(newer);
  Json foreign = document;
  foreign["head"]["hostname"] = "elsewhere";
  EXPECT_TRUE(has(problem(foreign), "host: elsewhere in the file")) << problem(foreign);
  EXPECT_EQ(run_tutti({"sweep", "--resume", folder.file("none.json")}).code, 2);
}

TEST(SweepControl, AnInterruptedSweepIsKeptAndCanBeContinued) {
  const TemporaryFolder folder;
  Words words = tutti(sweep({"--sizes", "1K..4K", "--watch"}));
  words.insert(words.begin(), {"env", "-C", folder.path().string()});
  Subprocess command(words, {{"TUTTI_SWEEP_FAULT", "hang@4096:native"}});
  // The first ranks that do not use the processor any more hang in the last cell.
  std::vector<pid_t> ranks;
  long before = -1;
  for (const auto deadline = soon(); std::chrono::steady_clock::now() < deadline; std::this_thread::sleep_for(1s)) {
    ranks = children_of(command.pid());
    const long ticks = processor_time(ranks);
    if (ranks.size() >= 2 && ticks > 0 && ticks == before) break;
    before = ticks;
  }
  command.kill(SIGINT);
  const auto end = command.wait(soon());
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 130) << command.output();
  ASSERT_FALSE(std::filesystem::is_empty(folder.path())) << command.output();
  const std::string file = std::filesystem::directory_iterator(folder.path())->path().string();
  const std::string name = std::filesystem::path(file).filename().string();
  EXPECT_TRUE(name.starts_with("tutti-sweep-")) << name;
  EXPECT_TRUE(has(command.output(), "tutti sweep --resume " + name + " measures the rest")) << command.output();
  const CommandResult rest = run_tutti({"sweep", "--resume", file});
  EXPECT_EQ(rest.code, 0) << rest.output;
  const Json rows = read_json(file)["rows"];
  ASSERT_EQ(rows.size(), 3U) << rest.output;
  for (const Json& row : rows) EXPECT_EQ(row["status"], "ok") << row;
}

TEST(SweepControl, AFullDiskKeepsTheTableAndTheOtherFile) {
  const TemporaryFolder folder;
  const CommandResult result =
      run_tutti(sweep({"--sizes", "1K", "--json", "/dev/full", "--csv", folder.file("out.csv")}));
  EXPECT_EQ(result.code, 1) << result.output;
  EXPECT_TRUE(has(result.output, "tutti sweep: cannot write /dev/full: No space left on device")) << result.output;
  EXPECT_TRUE(has(result.output, "1 KiB")) << result.output;
  EXPECT_TRUE(has(read_file(folder.file("out.csv")), "allreduce,1024,")) << "the other file is complete";
}

TEST(SweepControl, DoubtfulSweepsAreRemarkedBeforeTheyStart) {
  const std::string ranks = std::to_string(std::thread::hardware_concurrency() + 1);
  const CommandResult result = run_tutti(sweep({"--sizes", "1001,4096G", "--ranks", ranks}));
  const std::size_t table = result.output.find("GB/s");
  for (const char* remark : {"1000 B instead of 1001 B", "1 cell does not fit in memory", " ranks share "}) {
    EXPECT_LT(result.output.find(remark), table) << remark << "\n" << result.output;
  }
  EXPECT_EQ(result.code, 0) << result.output;
  const CommandResult bits = run_tutti(sweep({"--sizes", "1Mb"}));
  EXPECT_EQ(bits.code, 2);
  EXPECT_TRUE(has(bits.output, "is a number of bits, and sizes are in bytes; write 1M or 1MB")) << bits.output;
}

TEST(SweepControl, TwoSweepsAtOnceAreTold) {
  const TemporaryFolder folder;
  const std::string file = folder.file("first.json");
  Subprocess first(tutti(sweep({"--sizes", "1K,2K", "--json", file, "--timeout-per-cell", "60s"})),
                   {{"TUTTI_SWEEP_FAULT", "hang@2048:native"}});
  std::vector<pid_t> ranks;
  for (const auto deadline = soon(); std::chrono::steady_clock::now() < deadline && ranks.size() < 2;) {
    ranks = children_of(first.pid());
    std::this_thread::sleep_for(10ms);
  }
  ASSERT_GE(ranks.size(), 2U);
  const CommandResult second = run_tutti(sweep({"--sizes", "1K"}));
  EXPECT_EQ(second.code, 0) << second.output;
  EXPECT_TRUE(has(second.output, "is running on this host: the two disturb each other's times")) << second.output;
  first.kill(SIGINT);
  ASSERT_TRUE(first.wait(soon()));
  EXPECT_NE(setting(read_json(file), "other-sweeps"), "") << "the first one was told, too";
  EXPECT_FALSE(has(read_file("/proc/net/unix"), "@tutti-sweep-" + std::to_string(first.pid()) + "\n"));
}

TEST(SweepControl, ASoakReportsRoundsMemoryAndDrift) {
  const TemporaryFolder folder;
  const std::string file = folder.file("out.json");
  // The calls of a cell take 50 ms, so that the ranks live long enough for their memory to be read after each round.
  const CommandResult result = run_tutti({"sweep", "--backends", "native", "--ranks", "2", "--sizes", "4M",
                                          "--seconds-per-cell", "50ms", "--soak", "4s", "--json", file});
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_TRUE(has(result.output, "\nsoak of 0:0")) << result.output;
  EXPECT_TRUE(has(result.output, "memory of native, rank 1 of 2: steady")) << result.output;
  EXPECT_TRUE(has(result.output, "drift")) << result.output;
  const Json document = read_json(file);
  ASSERT_EQ(document["rows"].size(), 1U);
  EXPECT_GE(document["rows"][0]["run_medians_us"].size(), 4U);
  EXPECT_EQ(setting(document, "soak"), "4");
  const CommandResult runs = run_tutti(sweep({"--soak", "4s", "--runs", "3"}));
  EXPECT_EQ(runs.code, 2);
  EXPECT_TRUE(has(runs.output, "leave out --runs and --resume")) << runs.output;
}

}  // namespace
}  // namespace tutti::test
