// tutti report as a user runs it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support.hpp"

namespace tutti::test {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Json row(const std::string& backend, double time_us, std::uint64_t bytes = kMiB, const std::string& op = "allreduce") {
  return {{"op", op},       {"bytes", bytes},         {"dtype", "float32"},     {"backend", backend},    {"ranks", 2},
          {"status", "ok"}, {"time_us_p50", time_us}, {"time_us_min", time_us}, {"time_us_p99", time_us}};
}

Json results(const std::vector<Json>& rows) {
  return {{"schema", "tutti-sweep"}, {"version", 2}, {"device", "host"}, {"rows", rows}};
}

class Report : public testing::Test {
 protected:
  std::string add(const std::string& name, const Json& document) { return folder_.add(name, document.dump()); }

  static void expect_error(const CommandResult& result, int code, const std::vector<std::string>& texts) {
    EXPECT_EQ(result.code, code) << result.output;
    for (const std::string& text : texts) EXPECT_NE(result.output.find(text), std::string::npos) << result.output;
  }

  TemporaryFolder folder_;
};

TEST_F(Report, ShowsTheFastestBackendAndSpeedups) {
  const std::string file = add("a.json", results({row("native", 100), row("mpi:openmpi", 250)}));
  const CommandResult result = run_tutti({"report", file, "--baseline", "mpi:openmpi"});
  expect_error(result, 0, {"allreduce, float32, 2 ranks: time of a call", "  2.50  ", "150 %"});
}

TEST_F(Report, ComparesFilesAndFailsOnARegression) {
  const std::string before = add("before.json", results({row("native", 100), row("mpi", 100)}));
  const std::string after = add("after.json", results({row("native", 130), row("mpi", 100)}));
  expect_error(run_tutti({"report", before, after}), 0, {"1.30", "SLOWER", "1 slower beyond the noise"});
  expect_error(run_tutti({"report", before, after, "--fail-on-regression", "40%"}), 0,
               {"No cell is slower by more than 40 %"});
  expect_error(run_tutti({"report", after, before, "--fail-on-regression", "10"}), 0,
               {"No cell is slower by more than 10 %"});
  const std::string list = folder_.file("report.txt");
  expect_error(run_tutti({"report", before, after, "--fail-on-regression", "10%", "-o", list}), 1,
               {"tutti: report: 1 regression:\n  allreduce, float32, 2 ranks, 1 MiB on native: 100 us before, 130 us "
                "after: 1.30 times\n"});
  EXPECT_NE(read_file(list).find("Regressions, slower by more than 10 % or failing now:"), std::string::npos);
}

TEST_F(Report, ImportsATableAndNamesItsDirtyCells) {
  const CommandResult alone = run_tutti({"report", "--import", TUTTI_TEST_THAPI_TABLE});
  expect_error(alone, 0,
               {"[1] CCL at 2 MiB: host (304.39ms | 11400) and device (1.86min | 391994) look swapped",
                "[9] HVD at 512 MiB: \"1.04s\" is a time in a column of bytes"});
  Json counted = row("native", 100);
  counted.update({{"counted_calls", 10}, {"host_calls", 40}, {"host_time_us", 123.456}});
  const std::string file = add("new.json", results({counted}));
  const CommandResult beside = run_tutti({"report", file, "--import", TUTTI_TEST_THAPI_TABLE, "--format", "csv"});
  expect_error(beside, 0,
               {"part,unit,bytes,native amount,native calls,CCL (thapi_comparison) amount,",
                "host,ns,1048576,123456,40,111000000000,350753,125400000000,319468,3120000000,907154\n"});
}

TEST_F(Report, WritesMarkdownToAFile) {
  const std::string file = add("a.json", results({row("native", 100), row("native", 500, 2 * kMiB)}));
  const std::string out = folder_.file("report.md");
  const CommandResult result = run_tutti({"report", file, "--format", "markdown", "--output", out});
  expect_error(result, 0, {});
  EXPECT_EQ(result.output, "");
  const std::string text = read_file(out);
  EXPECT_EQ(text.find("## Measurements\n\n|"), 0U) << text;
  EXPECT_NE(text.find("| native | allreduce, float32, 2 ranks | 2 MiB | 500 us | 2 x 1 MiB | 200 us | 2.50 |\n"),
            std::string::npos)
      << text;
}

TEST_F(Report, RefusesFilesThatItCannotRead) {
  expect_error(run_tutti({"report", folder_.file("none.json")}), 1, {"none.json: cannot be read"});
  expect_error(run_tutti({"report", folder_.path()}), 2, {"is empty or a folder"});
  expect_error(run_tutti({"report", "--import", folder_.file("none.md")}), 1, {"none.md: cannot be read"});
  Json newer = results({row("native", 1)});
  newer["version"] = 99;
  expect_error(run_tutti({"report", add("newer.json", newer)}), 1, {"newer.json: results of version 99"});
  Json edited = results({row("native", 1)});
  edited["rows"][0]["time_us_p50"] = "fast";
  expect_error(run_tutti({"report", add("edited.json", edited)}), 1, {"edited.json: rows[0]: \"time_us_p50\""});
  expect_error(run_tutti({"report", folder_.add("cut.json", R"({"rows": [)")}), 1, {"cut.json: not JSON, or cut off"});
  expect_error(run_tutti({"report", add("empty.json", results({}))}), 1,
               {"empty.json: holds no rows; the sweep that wrote it measured nothing"});
  expect_error(run_tutti({"report", "--import", folder_.add("text.md", "no table\n")}), 1,
               {"text.md: no comparison table is in it"});
}

TEST_F(Report, RefusesFilesWithNothingInCommon) {
  const std::string one = add("one.json", results({row("native", 1)}));
  const std::string other = add("other.json", results({row("mpi", 1, 4 * kMiB, "broadcast")}));
  expect_error(run_tutti({"report", one, other}), 1,
               {"one and other have no cell in common",
                "one has allreduce, float32, 2 ranks from 1 MiB to 1 MiB on "
                "native; other has broadcast, float32, 2 ranks"});
}

TEST_F(Report, RefusesWrongOptions) {
  const std::string file = add("a.json", results({row("native", 1)}));
  expect_error(run_tutti({"report"}), 2, {"report: no file is given"});
  expect_error(run_tutti({"report", file, "--baseline", "ccl"}), 2,
               {"--baseline: no file has backend \"ccl\"; accepted: native"});
  for (const std::string percent : {"ten", "-1%", "", "1e2", "10%%", "nan"}) {
    expect_error(run_tutti({"report", file, file, "--fail-on-regression=" + percent}), 2, {"--fail-on-regression"});
  }
  expect_error(run_tutti({"report", file, "--fail-on-regression", "10%"}), 2, {"two files or more", "1 was given"});
  expect_error(run_tutti({"report", file, "--format", "pdf"}), 2, {"unknown format \"pdf\"; accepted: text, markdown"});
  expect_error(run_tutti({"report", file, "-o", folder_.path()}), 2, {"is empty or a folder"});
  expect_error(run_tutti({"report", file, "--html5"}), 2, {"--html5"});
}

TEST_F(Report, ReportsAFullDisk) {
  const std::string file = add("a.json", results({row("native", 1)}));
  expect_error(run_tutti({"report", file, "-o", "/dev/full"}), 1, {"/dev/full", "No space left on device"});
  expect_error(run_tutti({"report", file, "-o", folder_.file("none/out.txt")}), 1, {"none/out.txt"});
  expect_error(run_command({"sh", "-c", std::string(TUTTI_COMMAND " report ") + file + " > /dev/full"}, {}, 120s), 1,
               {"No space left on device"});
}

TEST_F(Report, NamesFilesOfTheSameNameByTheirPaths) {
  const std::string one = add("one/sweep.json", results({row("native", 100)}));
  const std::string other = add("other/sweep.json", results({row("native", 200)}));
  expect_error(run_tutti({"report", one, other, "--format", "csv"}), 0, {one + " us," + other + " us"});
}

}  // namespace
}  // namespace tutti::test
