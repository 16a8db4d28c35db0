#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "support.hpp"
#include "support/required_backends.hpp"

namespace tutti::test {
namespace {

using Json = nlohmann::json;

struct Outcome {
  CommandResult result;
  Json document;
  Json rows;
  Json backends;
};

Outcome sweep(Words options, const std::map<std::string, std::string>& environment = {}) {
  const TemporaryFolder folder;
  Words words = {"sweep", "--quiet", "--ranks", "2", "--seconds-per-cell", "50ms", "--json", folder.file("out.json")};
  words.insert(words.end(), options.begin(), options.end());
  Outcome outcome{run_tutti(words, environment), {}, {}, {}};
  outcome.document = Json::parse(read_file(folder.file("out.json")), nullptr, false);
  const Json& document = outcome.document;
  if (document.is_object() && document.contains("rows")) outcome.rows = document["rows"];
  if (document.is_object() && document.contains("backends")) outcome.backends = document["backends"];
  return outcome;
}

/// `tutti info --json`.
Json info_of_this_machine(Words options = {}) {
  options.insert(options.begin(), {"info", "--json"});
  const CommandResult result = run_tutti(options);
  EXPECT_EQ(result.code, 0) << result.output;
  return Json::parse(result.output, nullptr, false);
}

void expect_ok(const Json& row) {
  EXPECT_EQ(row["status"], "ok") << row;
  for (const char* key : {"time_us_p50", "time_us_min", "time_us_p99", "algbw_gbs", "busbw_gbs"}) {
    ASSERT_TRUE(row[key].is_number()) << key << row;
    EXPECT_GT(row[key].get<double>(), 0) << key;
  }
  EXPECT_LE(row["time_us_min"], row["time_us_p50"]);
  EXPECT_LE(row["time_us_p50"], row["time_us_p99"]);
  EXPECT_NEAR(row["algbw_gbs"].get<double>(), row["bytes"].get<double>() / row["time_us_p50"].get<double>() / 1e3,
              row["algbw_gbs"].get<double>() * 1e-3);
}

std::set<std::string> keys_of(const Json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

/// The keys in the table of a section of docs/sweep-format.md.
std::set<std::string> documented_keys(const std::string& section) {
  std::istringstream document(read_file(TUTTI_TEST_FORMAT));
  std::set<std::string> keys;
  bool is_inside = false;
  for (std::string line; std::getline(document, line);) {
    if (line.starts_with("## ")) is_inside = line == "## " + section;
    if (is_inside && line.starts_with("| `")) keys.insert(line.substr(3, line.find('`', 3) - 3));
  }
  return keys;
}

TEST(Sweep, StepsHaveAComputationOfTheLengthThatIsAskedFor) {
  const Outcome outcome =
      sweep({"--sizes", "4K", "--backends", "native", "--runs", "3", "--compute", "3ms", "--iterations", "5"});
  EXPECT_EQ(outcome.result.code, 0) << outcome.result.output;
  ASSERT_EQ(outcome.rows.size(), 1U) << outcome.result.output;
  const Json& row = outcome.rows[0];
  ASSERT_EQ(row["run_steps_us"].size(), 3U) << row;
  ASSERT_EQ(row["run_computes_us"].size(), 3U) << row;
  for (const Json& time : row["run_computes_us"]) EXPECT_GT(time.get<double>(), 1000) << "a third of 3 ms, at least";
  EXPECT_TRUE(sweep({"--sizes", "4K", "--backends", "native"}).rows[0]["run_steps_us"].empty());
}

TEST(Sweep, JsonHasExactlyTheKeysThatAreDocumented) {
  const Outcome outcome = sweep({"--sizes", "1K..4K", "--backends", "native"});
  EXPECT_EQ(outcome.result.code, 0) << outcome.result.output;
  ASSERT_EQ(outcome.rows.size(), 3U) << outcome.result.output;
  const std::set<std::string> keys = documented_keys("Rows");
  EXPECT_EQ(keys_of(outcome.backends[0]), documented_keys("Backends"));
  EXPECT_EQ(keys_of(outcome.document), documented_keys("Document"));
  EXPECT_EQ(keys_of(outcome.document["head"]), documented_keys("Head"));
  std::uint64_t bytes = 1024;
  for (const Json& row : outcome.rows) {
    EXPECT_EQ(keys_of(row), keys);
    EXPECT_EQ(row["op"], "allreduce");
    EXPECT_EQ(row["bytes"], bytes);
    EXPECT_EQ(row["dtype"], "float32");
    EXPECT_EQ(row["device"], "host");
    EXPECT_EQ(row["rank_devices"], Json({"host", "host"}));
    EXPECT_EQ(row["observed_device_calls"], 0);
    EXPECT_EQ(row["observed_device_time_us"], 0);
    EXPECT_EQ(row["device_calls"], 0);
    EXPECT_EQ(row["device_time_us"], 0);
    EXPECT_EQ(row["served_by"], "native");
    EXPECT_EQ(row["emulated"], "");
    EXPECT_EQ(row["staged"], false);
    EXPECT_EQ(row["in_place"], false);
    EXPECT_EQ(row["ranks"], 2);
    expect_ok(row);
    bytes *= 2;
  }
}

TEST(Sweep, CsvHasTheKeysAndValuesOfTheJson) {
  const TemporaryFolder folder;
  const CommandResult result =
      run_tutti({"sweep", "--quiet", "--ranks", "2", "--iterations", "3", "--sizes", "1K", "--backends", "native",
                 "--json", folder.file("out.json"), "--csv", folder.file("out.csv")});
  ASSERT_EQ(result.code, 0) << result.output;
  std::istringstream csv(read_file(folder.file("out.csv")));
  std::string header;
  std::string line;
  ASSERT_TRUE(std::getline(csv, header) && std::getline(csv, line));
  std::istringstream names(header);
  std::istringstream fields(line);
  const auto document = nlohmann::ordered_json::parse(read_file(folder.file("out.json")));
  for (const auto& [key, value] : document["rows"][0].items()) {
    std::string name;
    std::string field;
    std::getline(names, name, ',');
    std::getline(fields, field, ',');
    EXPECT_EQ(name, key);
    if (value.is_array()) continue;
    EXPECT_EQ(field, value.is_string() ? value.get<std::string>() : value.dump()) << key;
  }
}

TEST(Sweep, EveryOperationIsRightOnNative) {
  const Outcome outcome =
      sweep({"--sizes", "1000,64K", "--backends", "native", "--iterations", "5", "--ranks", "3", "--dtype", "bfloat16",
             "--ops",
             "allreduce,allgather,allgatherv,reduce_scatter,reduce_scatterv,broadcast,reduce,gather,gatherv,scatter,"
             "scatterv,alltoall,alltoallv"});
  EXPECT_EQ(outcome.result.code, 0) << outcome.result.output;
  ASSERT_EQ(outcome.rows.size(), 26U) << outcome.result.output;
  for (const Json& row : outcome.rows) expect_ok(row);
}

TEST(Sweep, EightBitFloatsAreRightOnEveryBackend) {
  for (const char* type : {"float8_e4m3", "float8_e5m2"}) {
    const Outcome outcome = sweep({"--sizes", "1000,64K", "--iterations", "5", "--ranks", "2", "--dtype", type, "--ops",
                                   "allreduce,reduce_scatterv,alltoall"});
    EXPECT_EQ(outcome.result.code, 0) << outcome.result.output;
    ASSERT_GE(outcome.rows.size(), 6U) << outcome.result.output;
    for (const Json& row : outcome.rows) expect_ok(row);
  }
}

TEST(Sweep, AFileThatCannotBeWrittenIsKnownAtTheStart) {
  // The permissions of /proc would allow root to create a file, but the file system does not.
  const CommandResult refused = run_tutti({"sweep", "--sizes", "1K", "--backends", "native", "--json", "/proc/x.json"});
  EXPECT_EQ(refused.code, 2) << refused.output;
  EXPECT_NE(refused.output.find("cannot write /proc/x.json: "), std::string::npos) << refused.output;
  EXPECT_EQ(refused.output.find("GB/s"), std::string::npos) << refused.output;
  const TemporaryFolder folder;
  const CommandResult failed =
      run_tutti({"sweep", "--sizes", "1K", "--device", "warp", "--csv", folder.file("out.csv")});
  EXPECT_EQ(failed.code, 2) << failed.output;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << "a sweep that did not begin must leave no files";
}

bool has(const Json& list, const std::string& entry) { return std::ranges::find(list, Json(entry)) != list.end(); }

TEST(Sweep, JsonTellsHowEachBackendWasStarted) {
  const Outcome outcome = sweep({"--sizes", "4K,8K", "--iterations", "3", "--backends", "native,mpi:openmpi,ccl"});
  EXPECT_EQ(outcome.result.code, 0) << outcome.result.output;
  for (const Json& setup : outcome.backends) {
    const std::string name = setup["backend"];
    EXPECT_FALSE(setup["version"].get<std::string>().empty()) << setup;
    const std::string file = std::filesystem::path(setup["library"].get<std::string>()).filename();
    EXPECT_TRUE(file.starts_with(name == "native" ? "libtutti.so" : name == "ccl" ? "libccl.so" : "libmpi.so")) << file;
    EXPECT_EQ(setup["processes"], 2);
    if (name == "native") {
      EXPECT_TRUE(setup["launcher"].empty()) << setup;
      continue;
    }
    if (name == "mpi:openmpi") {
      EXPECT_NE(setup["launcher"][0].get<std::string>().find("mpirun"), std::string::npos) << setup;
      EXPECT_EQ(setup["settings"], Json({"thread level=MPI_THREAD_MULTIPLE"}));
      continue;
    }
    // oneCCL is started as its users do it where Intel MPI is there.
    const bool has_intel_mpi = !setup["launcher"].empty();
    EXPECT_EQ(has(setup["settings"], "CCL_ATL_TRANSPORT=mpi"), has_intel_mpi) << setup;
    EXPECT_EQ(has(setup["settings"], "CCL_ATL_TRANSPORT=ofi"), !has_intel_mpi) << setup;
    EXPECT_EQ(has(setup["variables"], "I_MPI_PIN=0"), has_intel_mpi) << setup;
  }
  const std::size_t unusable = outcome.backends.size() < 3 ? 3 - outcome.backends.size() : 0;
  if (unusable > 0) TUTTI_SKIP_OR_FAIL("ccl", outcome.result.output);
}

TEST(Sweep, EveryUsableBackendHasItsColumn) {
  const Outcome outcome = sweep({"--sizes", "4K", "--iterations", "3"});
  EXPECT_EQ(outcome.result.code, 0) << outcome.result.output;
  const Json info = info_of_this_machine();
  for (const Json& launcher : info["launchers"]) {
    // A backend that stands on another is measured on the first of the others, native, which is always usable.
    const std::string name =
        launcher["name"].get<std::string>() + (launcher["stands_on_others"] == true ? ":native" : "");
    const bool not_measured = outcome.result.output.find(" " + name + ": not measured:") != std::string::npos;
    const bool is_usable = launcher["usable"] == true;
    EXPECT_EQ(not_measured, !is_usable) << name << outcome.result.output;
    int rows = 0;
    for (const Json& row : outcome.rows) rows += row["backend"] == name ? 1 : 0;
    EXPECT_EQ(rows, is_usable ? 1 : 0) << name << outcome.result.output;
  }
}

class SweepFaults : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(SweepFaults, IsShownInItsCellAndTheRestGoesOn) {
  const auto [kind, status] = GetParam();
  // The timeout is long, so that only the cell that hangs reaches it.
  const Outcome outcome = sweep({"--sizes", "1K..4K", "--backends", "native", "--timeout-per-cell", "10s"},
                                {{"TUTTI_SWEEP_FAULT", std::string(kind) + "@2048:native"}});
  EXPECT_EQ(outcome.result.code, 1) << outcome.result.output;
  ASSERT_EQ(outcome.rows.size(), 3U) << outcome.result.output;
  expect_ok(outcome.rows[0]);
  expect_ok(outcome.rows[2]);
  const Json& bad = outcome.rows[1];
  EXPECT_EQ(bad["bytes"], 2048);
  EXPECT_EQ(bad["status"].get<std::string>().rfind(status, 0), 0U) << bad;
  EXPECT_TRUE(bad["time_us_p50"].is_null());
  EXPECT_TRUE(bad["busbw_gbs"].is_null());
  EXPECT_NE(outcome.result.output.find(status), std::string::npos) << outcome.result.output;
}

INSTANTIATE_TEST_SUITE_P(Kinds, SweepFaults,
                         testing::Values(std::pair("crash", "crashed: signal 11"), std::pair("exit", "exited with 3"),
                                         std::pair("hang", "hung > 10 s"), std::pair("wrong", "wrong result")),
                         [](const auto& test) { return test.param.first; });

TEST(Sweep, AFaultOfOneBackendDoesNotTouchTheOthers) {
  const Outcome outcome = sweep({"--sizes", "1K,2K", "--iterations", "3", "--timeout-per-cell", "60s"},
                                {{"TUTTI_SWEEP_FAULT", "crash@2048:native"}});
  EXPECT_EQ(outcome.result.code, 1);
  std::map<std::string, int> rows;
  for (const Json& row : outcome.rows) {
    ++rows[row["backend"].get<std::string>()];
    if (row["backend"] == "native" && row["bytes"] == 2048)
      EXPECT_NE(row["status"], "ok");
    else
      expect_ok(row);
  }
  EXPECT_TRUE(rows.contains("native")) << outcome.result.output;
  for (const auto& [backend, count] : rows) EXPECT_EQ(count, 2) << backend << ": one row per size";
}

TEST(Sweep, WhatDoesNotFitInMemoryIsNotTried) {
  const Outcome outcome = sweep({"--sizes", "1K,4096G", "--backends", "native"});
  EXPECT_EQ(outcome.result.code, 0) << outcome.result.output;
  ASSERT_EQ(outcome.rows.size(), 2U);
  expect_ok(outcome.rows[0]);
  EXPECT_EQ(outcome.rows[1]["status"].get<std::string>().rfind("does not fit", 0), 0U) << outcome.rows[1];
}

/// Waits until the two ranks of a sweep hang, and returns them. Ranks that hang use no processor time. A busy machine
/// may stop them for a second, too, but hardly for three seconds in a row.
std::vector<pid_t> wait_for_hung_ranks(const Subprocess& command) {
  std::vector<pid_t> ranks;
  long before_ticks = -1;
  int still = 0;
  for (const auto deadline = soon(); std::chrono::steady_clock::now() < deadline; std::this_thread::sleep_for(1s)) {
    ranks = children_of(command.pid());
    std::erase_if(ranks, [](pid_t child) {  // the job's guard
      return read_file("/proc/" + std::to_string(child) + "/cmdline").find("guard") != std::string::npos;
    });
    const long ticks = processor_time(ranks);
    still = ranks.size() == 2 && ticks > 0 && ticks == before_ticks ? still + 1 : 0;
    if (still == 3) break;
    before_ticks = ticks;
  }
  return ranks;
}

TEST(Sweep, AnInterruptKeepsWhatWasMeasuredAndLeavesNothing) {
  const TemporaryFolder folder;
  const std::set<std::string> before = shared_memory();
  Subprocess command(tutti({"sweep", "--sizes", "1K..4K", "--backends", "native", "--ranks", "2", "--seconds-per-cell",
                            "50ms", "--json", folder.file("out.json")}),
                     {{"TUTTI_SWEEP_FAULT", "hang@4096:native"}});
  const std::vector<pid_t> ranks = wait_for_hung_ranks(command);
  ASSERT_EQ(ranks.size(), 2U);
  ::kill(command.pid(), SIGINT);
  const auto end = command.wait(soon());
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 130) << command.output();
  EXPECT_TRUE(all_gone(ranks));
  EXPECT_EQ(left_in_shared_memory(before), std::set<std::string>());
  const Json rows = Json::parse(read_file(folder.file("out.json")))["rows"];
  ASSERT_EQ(rows.size(), 2U) << command.output();
  for (const Json& row : rows) expect_ok(row);
  EXPECT_NE(command.output().find("interrupted; the table above"), std::string::npos) << command.output();
}

TEST(Sweep, AnInterruptBeforeTheFirstResultClaimsNone) {
  Subprocess command(tutti({"sweep", "--quiet", "--sizes", "1K..4K", "--backends", "native", "--ranks", "2"}),
                     {{"TUTTI_SWEEP_FAULT", "hang@1024:native"}});
  ASSERT_EQ(wait_for_hung_ranks(command).size(), 2U);
  ::kill(command.pid(), SIGINT);
  const auto end = command.wait(soon());
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 130);
  EXPECT_EQ(command.output(), "tutti sweep: interrupted before anything was measured\n");
}

TEST(Sweep, WithoutAResultNoneWasChecked) {
  const Outcome failed = sweep({"--sizes", "1K", "--backends", "native"}, {{"TUTTI_SWEEP_FAULT", "crash@1K:native"}});
  EXPECT_NE(failed.result.output.find("GB/s:"), std::string::npos) << failed.result.output;
  EXPECT_EQ(failed.result.output.find("was checked"), std::string::npos) << failed.result.output;
  const Outcome good = sweep({"--sizes", "1K", "--backends", "native"});
  EXPECT_NE(good.result.output.find("was checked"), std::string::npos) << good.result.output;
}

TEST(Info, JsonIsComplete) {
  const Json info = info_of_this_machine({"--config"});
  bool native = false;
  for (const Json& backend : info["backends"]) {
    if (backend["name"] != "native") continue;
    native = true;
    EXPECT_EQ(backend["usable"], true);
    EXPECT_EQ(backend["operations"]["allreduce"], "native");
    EXPECT_EQ(backend["types"]["float16"]["moves"], true);
  }
  EXPECT_TRUE(native);
  std::set<std::string> launchers;
  for (const Json& launcher : info["launchers"]) {
    launchers.insert(launcher["name"].get<std::string>());
    if (launcher["name"] == "native") {
      EXPECT_EQ(launcher["version"], info["version"]);
    }
    for (const Json& backend : info["backends"]) {
      // tutti starts the ranks of this backend too, but the version is that of the measured library.
      if (launcher["name"] == "ccl" && backend["name"] == "ccl") {
        EXPECT_EQ(launcher["version"], backend["version"]);
      }
    }
  }
  for (const char* name : {"native", "ccl", "nccl", "mpi:openmpi", "mpi:mpich", "mpi:intel"}) {
    EXPECT_TRUE(launchers.contains(name) || !is_required(name)) << name << info["launchers"];
  }
  EXPECT_EQ(info["devices"][0]["name"], "host");
  ASSERT_FALSE(info["device_modules"].empty());
  EXPECT_EQ(info["device_modules"][0]["devices"][0]["device"], "host");
  EXPECT_FALSE(info["settings"].empty());
}

}  // namespace
}  // namespace tutti::test
