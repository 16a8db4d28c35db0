// Checks that the benchmark runs, that all contestants give right results and that its JSON is valid. Checks no times.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/required_backends.hpp"
#include "support/system/subprocess.hpp"

namespace tutti::test {
namespace {

using Json = nlohmann::json;
constexpr auto kDeadline = std::chrono::seconds(540);

/// Path of a file that is removed at the end of the test.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / ("native_vs_peers-" + std::to_string(getpid()) + "-" + name)) {}
  ~ScratchFile() { std::filesystem::remove(path_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string content() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

CommandResult benchmark(std::vector<std::string> arguments,
                        const std::map<std::string, std::string>& environment = {}) {
  arguments.insert(arguments.begin(), NATIVE_VS_PEERS);
  return run_command(arguments, environment, kDeadline);
}

// Whether a contestant must work: tutti itself, the limits, and the backends in TUTTI_REQUIRE_BACKENDS.
bool must_work(const std::string& key) {
  return key.starts_with("native") || key.starts_with("limit-") || is_required(key);
}

TEST(NativeVsPeers, EveryRequiredContestantIsMeasuredAndRight) {
  const ScratchFile json("check.json");
  const ScratchFile svg("check.svg");
  const CommandResult result = benchmark({"--check-only", "--json", json.path(), "--svg", svg.path()});
  ASSERT_EQ(result.code, 0) << result.output;
  const Json document = Json::parse(json.content());
  EXPECT_TRUE(document.at("complete").get<bool>());
  EXPECT_FALSE(document.at("targets").empty());

  std::vector<std::string> present;
  for (const Json& contestant : document.at("contestants")) {
    const auto key = contestant.at("key").get<std::string>();
    const auto absent = contestant.at("absent").get<std::string>();
    if (absent.empty() && must_work(key)) present.push_back(key);
    if (!absent.empty()) {
      EXPECT_FALSE(is_required(key)) << absence(key, absent);
    }
  }
  EXPECT_NE(std::ranges::find(present, "native"), present.end());

  // Two sizes of eight operations, and the barrier.
  ASSERT_EQ(document.at("cells").size(), 17U) << result.output;
  EXPECT_NE(result.output.find("distance of the cores"), std::string::npos) << result.output;
  for (const Json& cell : document.at("cells")) {
    const Json& distances = cell.at("core_distances_ns");
    if (std::thread::hardware_concurrency() > 1) {
      EXPECT_EQ(distances.size(), 1U) << "one per round";
      EXPECT_NE(cell.at("cores"), "unknown");
    }
    for (const Json& distance : distances) EXPECT_GT(distance.get<double>(), 0);
    const auto op = cell.at("op").get<std::string>();
    for (const std::string& key : present) {
      if (op == "barrier" && key.starts_with("limit-")) continue;
      if (key == "ccl" && (op == "gather" || op == "scatter" || op == "message")) continue;
      const auto entry =
          std::ranges::find_if(cell.at("results"), [&](const Json& e) { return e.at("contestant") == key; });
      ASSERT_NE(entry, cell.at("results").end()) << key << " has no result for " << op;
      EXPECT_EQ(entry->at("status"), "ok") << key << ", " << op;
      EXPECT_GT(entry->at("median_us").get<double>(), 0) << key << ", " << op;
    }
  }
  EXPECT_NE(svg.content().find("</svg>"), std::string::npos);
}

TEST(NativeVsPeers, FreshBuffersGiveRightResultsInEveryWayOfTutti) {
  const ScratchFile json("fresh.json");
  const CommandResult result = benchmark({"--check-only", "--fresh-buffers", "--ops", "allreduce,gather,message", "--sizes", "8,256K", "--peers",
                                          "native,native-allocate,native-threads,limit-plain", "--json", json.path()});
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("every call has new memory"), std::string::npos) << result.output;
  const Json document = Json::parse(json.content());
  EXPECT_TRUE(document.at("fresh_buffers").get<bool>());
  for (const Json& cell : document.at("cells")) {
    for (const Json& entry : cell.at("results")) EXPECT_EQ(entry.at("status"), "ok") << cell;
  }
}

TEST(NativeVsPeers, AContestantThatFailsIsShownAndTheOthersGoOn) {
  const ScratchFile json("failure.json");
  // The ranks of tutti cannot meet in a nanosecond; the limit driver ignores the variable.
  const CommandResult result = benchmark(
      {"--check-only", "--ops", "allreduce", "--sizes", "8", "--peers", "native,limit-plain", "--json", json.path()},
      {{"TUTTI_RENDEZVOUS_TIMEOUT", "0.000001ms"}});
  EXPECT_EQ(result.code, 1) << result.output;
  const Json results = Json::parse(json.content()).at("cells").at(0).at("results");
  ASSERT_EQ(results.size(), 2U);
  EXPECT_NE(results[0].at("status").get<std::string>().find("does not start"), std::string::npos) << results;
  EXPECT_EQ(results[1].at("status"), "ok") << results;
}

/// The processes of a driver of the benchmark.
std::vector<pid_t> ranks_of(pid_t parent, const std::string& driver) {
  std::vector<pid_t> ranks;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream status(entry.path() / "status");
    std::ifstream command(entry.path() / "cmdline");
    std::string program;
    std::getline(command, program, '\0');
    if (!program.ends_with("/driver_" + driver)) continue;
    for (std::string line; std::getline(status, line);) {
      if (line == "PPid:\t" + std::to_string(parent)) ranks.push_back(std::stoi(name));
    }
  }
  return ranks;
}

TEST(NativeVsPeers, AContestantThatHangsIsGivenUpAndStartedAgain) {
  const ScratchFile json("hang.json");
  // Long turns, so that the test stops a rank within the first cell.
  Subprocess process({NATIVE_VS_PEERS, "--check-only", "--ops", "allreduce", "--sizes", "1M,2M", "--peers",
                      "native,limit-plain", "--rounds", "4", "--batch-seconds", "0.5", "--patience", "8", "--json",
                      json.path()});
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  // The contestants start one after the other: when the limit driver runs, tutti is ready.
  while (ranks_of(process.pid(), "limit").empty() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const std::vector<pid_t> ranks = ranks_of(process.pid(), "tutti");
  ASSERT_EQ(ranks.size(), 2U) << process.output();
  ASSERT_EQ(::kill(ranks[0], SIGSTOP), 0);
  const auto status = process.wait(deadline);
  ASSERT_TRUE(status.has_value()) << process.output();
  EXPECT_EQ(status->code, 1) << process.output();
  for (const pid_t rank : ranks) EXPECT_NE(::kill(rank, 0), 0) << "a rank was left behind";
  const Json cells = Json::parse(json.content()).at("cells");
  ASSERT_EQ(cells.size(), 2U);
  const auto status_of = [&](std::size_t cell, std::size_t contestant) {
    return cells[cell].at("results").at(contestant).at("status").get<std::string>();
  };
  EXPECT_NE(status_of(0, 0).find("no answer in 8 s"), std::string::npos) << cells;
  EXPECT_EQ(status_of(0, 1), "ok");
  EXPECT_EQ(status_of(1, 0), "ok") << "the contestant must be started again for the next cell";
}

TEST(NativeVsPeers, InterruptedItShowsWhatItHas) {
  const ScratchFile json("interrupted.json");
  Subprocess process({NATIVE_VS_PEERS, "--peers", "native", "--json", json.path()});
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  ASSERT_TRUE(process.wait_for_output("2 ranks", deadline)) << process.output();
  process.kill(SIGINT);
  const auto status = process.wait(deadline);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 130) << process.output();
  EXPECT_NE(process.output().find("interrupted"), std::string::npos) << process.output();
  EXPECT_FALSE(Json::parse(json.content()).at("complete").get<bool>());
}

TEST(NativeVsPeers, WrongArgumentsAreRefused) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{{"--ops", "allreduze"},
                                                                                         {"--ranks", "1"},
                                                                                         {"--peers", "nobody"},
                                                                                         {"--sizes", "many"},
                                                                                         {"--rounds", "0"},
                                                                                         {"--patience", "abc"},
                                                                                         {"--patience", "8x"}}) {
    const CommandResult result = benchmark(arguments);
    EXPECT_EQ(result.code, 2) << arguments[0] << ": " << result.output;
    EXPECT_NE(result.output.find("native_vs_peers: "), std::string::npos) << result.output;
  }
}

}  // namespace
}  // namespace tutti::test
