// Whether the benchmark runs, all contestants give right results and its JSON can be read. Never how fast anything is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/required_backends.hpp"
#include "support/subprocess.hpp"

namespace tutti::test {
namespace {

using Json = nlohmann::json;
constexpr auto kDeadline = std::chrono::seconds(120);

/// A name for a file that is gone with the test.
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

// What must be there: tutti itself, the limit, and what the environment says.
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

  // Two sizes of four operations, and the barrier.
  ASSERT_EQ(document.at("cells").size(), 9U) << result.output;
  for (const Json& cell : document.at("cells")) {
    const auto op = cell.at("op").get<std::string>();
    for (const std::string& key : present) {
      if (op == "barrier" && key.starts_with("limit-")) continue;
      const auto entry =
          std::ranges::find_if(cell.at("results"), [&](const Json& e) { return e.at("contestant") == key; });
      ASSERT_NE(entry, cell.at("results").end()) << key << " has no result for " << op;
      EXPECT_EQ(entry->at("status"), "ok") << key << ", " << op;
      EXPECT_GT(entry->at("median_us").get<double>(), 0) << key << ", " << op;
    }
  }
  EXPECT_NE(svg.content().find("</svg>"), std::string::npos);
}

TEST(NativeVsPeers, AContestantThatFailsIsShownAndTheOthersGoOn) {
  const ScratchFile json("failure.json");
  // Not a duration: tutti refuses to start, the limit does not know the variable.
  const CommandResult result = benchmark(
      {"--check-only", "--ops", "allreduce", "--sizes", "8", "--peers", "native,limit-plain", "--json", json.path()},
      {{"TUTTI_RENDEZVOUS_TIMEOUT", "soon"}});
  EXPECT_EQ(result.code, 1) << result.output;
  const Json results = Json::parse(json.content()).at("cells").at(0).at("results");
  ASSERT_EQ(results.size(), 2U);
  EXPECT_NE(results[0].at("status").get<std::string>().find("TUTTI_RENDEZVOUS_TIMEOUT"), std::string::npos) << results;
  EXPECT_EQ(results[1].at("status"), "ok") << results;
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
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--ops", "allreduze"}, {"--ranks", "1"}, {"--peers", "nobody"}, {"--sizes", "many"}, {"--rounds", "0"}}) {
    const CommandResult result = benchmark(arguments);
    EXPECT_EQ(result.code, 2) << arguments[0] << ": " << result.output;
    EXPECT_NE(result.output.find("native_vs_peers: "), std::string::npos) << result.output;
  }
}

}  // namespace
}  // namespace tutti::test
