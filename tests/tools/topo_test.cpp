#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "support.hpp"
#include "support/required_backends.hpp"

namespace tutti::test {
namespace {

using Json = nlohmann::ordered_json;

void expect_in(const std::string& text, const std::string& expected) {
  EXPECT_NE(text.find(expected), std::string::npos) << "\"" << expected << "\" is not in\n" << text;
}

Json topo_json(Words words, const std::map<std::string, std::string>& environment = {}) {
  words.insert(words.begin(), {"topo", "--json"});
  const CommandResult result = run_tutti(words, environment);
  EXPECT_EQ(result.code, 0) << result.output;
  return Json::parse(result.output, nullptr, false);
}

/// The path between two devices; empty if there is no such link.
[[maybe_unused]] std::string path_in(const Json& host, const std::string& from, const std::string& to) {
  for (const Json& link : host.at("links")) {
    if (link.at("from") == from && link.at("to") == to) return link.at("path");
  }
  return {};
}

TEST(TopoCommand, DrawsTheMapOfThisHost) {
  const CommandResult result = run_tutti({"topo"});
  EXPECT_EQ(result.code, 0) << result.output;
  for (const char* expected : {"Host ", "NUMA node", "Devices", "Ranks"}) expect_in(result.output, expected);
}

TEST(TopoCommand, PredictsAsManyRanksAsAsked) {
  const Json json = topo_json({"-n", "5", "--device", "host"});
  EXPECT_TRUE(json.at("predicted").get<bool>());
  ASSERT_EQ(json.at("hosts").size(), 1u);
  const Json& ranks = json.at("hosts").at(0).at("ranks");
  ASSERT_EQ(ranks.size(), 5u);
  EXPECT_EQ(ranks.at(4).at("local_rank"), 4);
  EXPECT_EQ(ranks.at(4).at("device"), "host");
  EXPECT_EQ(ranks.at(4).at("ranks_on_device"), 5);
  expect_in(ranks.at(4).at("reason").get<std::string>(), "TUTTI_DEVICE=host");
}

TEST(TopoCommand, ShowsTheRanksOfAJobOnce) {
  const CommandResult result = run_tutti({"run", "-n", "3", "--no-prefix", "--", TUTTI_COMMAND, "topo", "--json"});
  EXPECT_EQ(result.code, 0) << result.output;
  const Json json = Json::parse(result.output, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << "only one rank may write: " << result.output;
  EXPECT_FALSE(json.at("predicted").get<bool>());
  ASSERT_EQ(json.at("hosts").size(), 1u) << "all ranks are on one host";
  const Json& ranks = json.at("hosts").at(0).at("ranks");
  ASSERT_EQ(ranks.size(), 3u);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ranks.at(static_cast<std::size_t>(rank)).at("rank"), rank);
    EXPECT_EQ(ranks.at(static_cast<std::size_t>(rank)).at("local_rank"), rank);
  }
}

TEST(TopoCommand, RefusesWhatMakesNoSense) {
  const CommandResult in_job = run_tutti({"run", "-n", "2", "--", TUTTI_COMMAND, "topo", "-n", "2"});
  EXPECT_EQ(in_job.code, 2) << in_job.output;
  expect_in(in_job.output, "remove -n");
  const CommandResult none = run_tutti({"topo", "-n", "0"});
  EXPECT_EQ(none.code, 2) << none.output;
  const CommandResult unknown = run_tutti({"topo", "--device", "warp:0"});
  EXPECT_EQ(unknown.code, 1) << unknown.output;
  expect_in(unknown.output, "TUTTI_DEVICE=warp:0 (--device): there is no device 'warp:0'; there are: host");
  const CommandResult variable = run_tutti({"topo"}, {{"TUTTI_DEVICE", "warp"}});
  EXPECT_EQ(variable.code, 1) << variable.output;
  expect_in(variable.output, "TUTTI_DEVICE=warp (environment): there is no device module 'warp'");
}

/// The map of a job; `prelude` runs in the shell of each rank and can hide devices from it.
[[maybe_unused]] Json job_json(const std::string& ranks, const std::string& prelude, const std::string& options,
                               const std::map<std::string, std::string>& environment) {
  const CommandResult result = run_tutti(
      {"run", "-n", ranks, "--no-prefix", "--", "sh", "-c", prelude + " exec " TUTTI_COMMAND " topo --json " + options},
      environment);
  EXPECT_EQ(result.code, 0) << result.output;
  return Json::parse(result.output, nullptr, false);
}

[[maybe_unused]] void expect_a_device_each(const Json& host, std::size_t ranks) {
  std::set<std::string> labels;
  ASSERT_EQ(host.at("ranks").size(), ranks);
  for (const Json& rank : host.at("ranks")) {
    labels.insert(rank.at("label"));
    EXPECT_EQ(rank.at("ranks_on_device"), 1) << rank;
  }
  EXPECT_EQ(labels.size(), ranks) << host.at("ranks");
  for (const std::string& label : labels) {
    const auto is_it = [&](const Json& device) { return device.at("label") == label; };
    EXPECT_TRUE(std::ranges::any_of(host.at("devices"), is_it)) << label;
  }
}

#ifdef TUTTI_TEST_SYCL
TEST(TopoCommand, RanksThatAreBoundToOneCoreEachAreOnDifferentDevices) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "this machine has only one core";
  const Json json = job_json("2", "taskset -cp $LOCAL_RANK $$ >/dev/null 2>&1 &&", "--device sycl", {});
  const Json& host = json.at("hosts").at(0);
  for (const Json& module : host.at("device_modules")) {
    if (module.at("name") == "sycl" && !module.at("usable").get<bool>()) {
      TUTTI_SKIP_OR_FAIL("sycl", module.at("reason").get<std::string>());
    }
  }
  expect_a_device_each(host, 2);
}

TEST(TopoCommand, PlacesRanksOnTheSubDevicesOfTheCpu) {
  const Json json = topo_json({"--device", "sycl"});
  const Json& host = json.at("hosts").at(0);
  for (const Json& module : host.at("device_modules")) {
    if (module.at("name") == "sycl" && !module.at("usable").get<bool>()) {
      TUTTI_SKIP_OR_FAIL("sycl", module.at("reason").get<std::string>());
    }
  }
  ASSERT_FALSE(host.at("ranks").empty());
  for (const Json& rank : host.at("ranks")) {
    expect_in(rank.at("device").get<std::string>(), "sycl:");
    EXPECT_NE(rank.at("label"), "");
  }
  const CommandResult missing = run_tutti({"topo", "--device", "sycl:0.99"});
  EXPECT_EQ(missing.code, 1) << missing.output;
  expect_in(missing.output, "there is no device 'sycl:0.99'; there are: host, sycl:0");
}
#endif

#ifdef TUTTI_TEST_LEVEL_ZERO_DRIVER
/// Uses a fake card of two tiles, which the real loader finds.
class TopoOnFakeCard : public testing::TestWithParam<const char*> {
 protected:
  static std::map<std::string, std::string> environment(const char* mode) {
    return {{"ZE_ENABLE_ALT_DRIVERS", TUTTI_TEST_LEVEL_ZERO_DRIVER}, {"ZE_FLAT_DEVICE_HIERARCHY", mode}};
  }
};

TEST_P(TopoOnFakeCard, ShowsTwoTilesAndARankOnEach) {
  const CommandResult text = run_tutti({"topo"}, environment(GetParam()));
  EXPECT_EQ(text.code, 0) << text.output;
  expect_in(text.output, "(fake)");
  const Json json = topo_json({"-n", "3"}, environment(GetParam()));
  const Json& host = json.at("hosts").at(0);
  std::vector<std::string> labels;
  for (const Json& device : host.at("devices")) {
    if (device.at("gpu").get<bool>()) labels.push_back(device.at("label"));
    EXPECT_EQ(device.at("fake"), device.at("gpu"));
  }
  const bool is_flat = std::string(GetParam()) == "FLAT";
  ASSERT_EQ(labels, is_flat ? (Words{"GPU0", "GPU1"}) : (Words{"GPU0.0", "GPU0.1"}));
  // The row of the first tile: X for itself, then the path to the second tile.
  const auto row = [&](const std::string& line) {
    return line.starts_with("  " + labels[0] + " ") && line.find(" X ") < line.find(" TILE ") &&
           line.find(" TILE ") != std::string::npos;
  };
  std::istringstream lines(text.output);
  bool is_drawn = false;
  for (std::string line; std::getline(lines, line);) is_drawn = is_drawn || row(line);
  EXPECT_TRUE(is_drawn) << text.output;
  ASSERT_EQ(host.at("ranks").size(), 3u);
  EXPECT_EQ(host.at("ranks").at(1).at("device"), is_flat ? "level_zero:1" : "level_zero:0.1");
  EXPECT_EQ(host.at("ranks").at(2).at("label"), labels.front());
  EXPECT_EQ(host.at("ranks").at(2).at("ranks_on_device"), 2);
  EXPECT_EQ(path_in(host, labels[0], labels[1]), "TILE");
  EXPECT_EQ(path_in(host, labels[1], labels[0]), "TILE");
}

INSTANTIATE_TEST_SUITE_P(Hierarchies, TopoOnFakeCard, testing::Values("FLAT", "COMPOSITE", "COMBINED"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(TopoOnFakeCards, ShowsTheTilesThatRanksHideFromEachOther) {
  const Json json = job_json("4", "ZE_AFFINITY_MASK=$((LOCAL_RANK/2)).$((LOCAL_RANK%2))", "",
                             {{"ZE_ENABLE_ALT_DRIVERS", TUTTI_TEST_LEVEL_ZERO_DRIVER}, {"FAKE_LEVEL_ZERO_CARDS", "2"}});
  const Json& host = json.at("hosts").at(0);
  expect_a_device_each(host, 4);
  EXPECT_EQ(path_in(host, "GPU0", "GPU1"), "TILE");
  EXPECT_EQ(host.at("ranks").at(3).at("label"), "GPU3");
  EXPECT_EQ(host.at("ranks").at(3).at("device"), "level_zero:0") << "the device must have the name that the rank uses";
  EXPECT_FALSE(host.at("notes").empty()) << "expected a note that no rank knows the link between the cards";
}

TEST(TopoOnFakeCards, ShowsTheLinksBetweenCards) {
  const CommandResult result =
      run_tutti({"topo"}, {{"ZE_ENABLE_ALT_DRIVERS", TUTTI_TEST_LEVEL_ZERO_DRIVER}, {"FAKE_LEVEL_ZERO_CARDS", "2"}});
  EXPECT_EQ(result.code, 0) << result.output;
  expect_in(result.output, "XL2");
  expect_in(result.output, "XL#");
}
#endif

#ifdef TUTTI_TEST_CUDA_LIBRARY
TEST(TopoOnFakeCuda, ShowsLinksAndMemoryInUse) {
  const std::map<std::string, std::string> environment = {{"TUTTI_CUDA_LIBRARY", TUTTI_TEST_CUDA_LIBRARY},
                                                          {"FAKE_CUDA_NVLINKS", "4"}};
  const CommandResult text = run_tutti({"topo", "-n", "2"}, environment);
  EXPECT_EQ(text.code, 0) << text.output;
  for (const char* expected : {"(fake)", "NV#", "NV4", " of 4.00 GiB"}) expect_in(text.output, expected);
  const Json json = topo_json({"-n", "2"}, environment);
  const Json& host = json.at("hosts").at(0);
  EXPECT_EQ(host.at("ranks").at(1).at("device"), "cuda:1");
  EXPECT_GE(host.at("devices").at(0).at("used_bytes").get<std::int64_t>(), 0);
  EXPECT_EQ(path_in(host, "GPU0", "GPU1"), "NV4");
}

TEST(TopoOnFakeCuda, ShowsTheCardsThatRanksHideFromEachOther) {
  const Json json = job_json("2", "CUDA_VISIBLE_DEVICES=$((1-LOCAL_RANK))", "--device cuda",
                             {{"TUTTI_CUDA_LIBRARY", TUTTI_TEST_CUDA_LIBRARY}});
  const Json& host = json.at("hosts").at(0);
  expect_a_device_each(host, 2);
  EXPECT_EQ(host.at("ranks").at(0).at("label"), "GPU1") << "the only device of this rank is the second of the host";
}
#endif

}  // namespace
}  // namespace tutti::test
