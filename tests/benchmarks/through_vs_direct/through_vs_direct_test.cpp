// Checks the verdicts, and that all libraries run both ways with right results. Checks no times.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "comparison.hpp"
#include "support/required_backends.hpp"
#include "support/system/subprocess.hpp"

namespace tutti::bench {
namespace {

using State = Comparison::State;

Comparison comparison(std::uint64_t bytes, std::vector<double> direct, std::vector<double> through) {
  return {.library = "mpi-mpich",
          .bytes = bytes,
          .direct = {.rounds_us = std::move(direct)},
          .through = {.rounds_us = std::move(through)}};
}

TEST(Comparison, ShortCallsHaveALowerTarget) {
  EXPECT_EQ(comparison(8, {9, 9, 9}, {10, 10, 10}).state(), State::met);
  EXPECT_EQ(comparison(65536, {9, 9, 9}, {10, 10, 10}).state(), State::missed);
  EXPECT_EQ(comparison(65536, {96, 96, 96}, {100, 100, 100}).state(), State::met);
}

TEST(Comparison, AMissWithinTheSpreadIsNamedAndPasses) {
  const Comparison noisy = comparison(65536, {7, 9, 11}, {8, 10, 12});
  EXPECT_EQ(noisy.state(), State::within_spread);
  EXPECT_TRUE(passes({noisy}));
  EXPECT_FALSE(passes({noisy, comparison(65536, {9, 9, 9}, {10, 10, 10})}));
  EXPECT_FALSE(passes({}));
}

TEST(Comparison, AProblemIsAFailure) {
  Comparison broken = comparison(8, {9}, {});
  broken.through.problem = "wrong result";
  EXPECT_EQ(broken.state(), State::failed);
  EXPECT_EQ(broken.problem(), "through tutti: wrong result");
  EXPECT_FALSE(passes({broken}));
}

TEST(ThroughVsDirect, EveryRequiredLibraryRunsBothWays) {
  const auto file = std::filesystem::temp_directory_path() / ("through_vs_direct-" + std::to_string(getpid()));
  const test::CommandResult result =
      test::run_command({THROUGH_VS_DIRECT, "--quick", "--json", file.string()}, {}, std::chrono::seconds(200));
  ASSERT_EQ(result.code, 0) << result.output;
  std::ifstream stream(file);
  const nlohmann::json document = nlohmann::json::parse(stream);
  std::filesystem::remove(file);
  std::size_t present = 0;
  ASSERT_EQ(document.at("libraries").size(), 4U);
  for (const auto& library : document.at("libraries")) {
    const auto absent = library.at("absent").get<std::string>();
    const auto key = library.at("key").get<std::string>();
    if (absent.empty()) ++present;
    if (!absent.empty()) {
      EXPECT_FALSE(test::is_required(key)) << test::absence(key, absent);
    }
  }
  ASSERT_EQ(document.at("comparisons").size(), 2 * present) << result.output;
  for (const auto& one : document.at("comparisons")) {
    EXPECT_EQ(one.at("direct").at("status"), "ok") << one;
    EXPECT_EQ(one.at("through").at("status"), "ok") << one;
    EXPECT_GT(one.at("ratio").get<double>(), 0) << one;
  }
}

}  // namespace
}  // namespace tutti::bench
