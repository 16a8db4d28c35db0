// NCCL between ranks that are processes, on the fakes of CUDA and NCCL: every operation in every kind of memory, and
// the reasons why NCCL is not usable.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "support/system/subprocess.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

using Environment = std::map<std::string, std::string>;

const Environment kFakes = {{"TUTTI_CUDA_LIBRARY", TUTTI_TEST_CUDA_LIBRARY},
                            {"TUTTI_NCCL_LIBRARY", TUTTI_TEST_NCCL_LIBRARY},
                            {"FAKE_CUDA_DEVICES", "4"}};

Environment with(const Environment& more) {
  Environment all = more;
  all.insert(kFakes.begin(), kFakes.end());
  return all;
}

CommandResult tutti_run(int ranks, const std::vector<std::string>& arguments, const Environment& environment) {
  std::vector<std::string> command = {TUTTI_TEST_COMMAND, "run",  "-n", std::to_string(ranks),    "--backend",  "nccl",
                                      "--timeout",        "150s", "--", TUTTI_TEST_RANKS_PROGRAM, "--deadline", "120"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_command(command, environment, 180s);
}

void expect_success(const CommandResult& result, int ranks) {
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("conformance: " + std::to_string(ranks) + " ranks on nccl"), std::string::npos)
      << result.output;
  EXPECT_NE(result.output.find(", 0 failures"), std::string::npos) << result.output;
}

class Nccl : public testing::TestWithParam<int> {};

TEST_P(Nccl, EveryOperationInDeviceMemory) {
  const std::vector<std::string> plan = {"--plan", "rotated", "--device", "cuda"};
  std::vector<std::string> large = plan;
  if (GetParam() == 2) large.emplace_back("--large");
  expect_success(tutti_run(GetParam(), large, kFakes), GetParam());
}

TEST_P(Nccl, EveryOperationInSharedMemory) {
  expect_success(tutti_run(GetParam(), {"--plan", "rotated", "--device", "cuda", "--memory", "shared"}, kFakes),
                 GetParam());
}

TEST_P(Nccl, EveryOperationInPinnedMemory) {
  expect_success(tutti_run(GetParam(), {"--plan", "rotated", "--device", "cuda", "--memory", "host"}, kFakes),
                 GetParam());
}

TEST_P(Nccl, EveryOperationAndScenarioOnTheHost) {
  expect_success(tutti_run(GetParam(), {"--plan", "rotated", "--scenario", "all"}, kFakes), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Ranks, Nccl, testing::Values(1, 2, 4),
                         [](const auto& row) { return std::to_string(row.param); });

TEST(NcclTimeout, EndsTheOperationAndTheCommunicator) {
  expect_success(tutti_run(3, {"--scenario", "timeout"}, kFakes), 3);
}

void expect_refusal(const Environment& environment, const std::string& reason) {
  const CommandResult result = tutti_run(1, {"--hello"}, environment);
  EXPECT_NE(result.code, 0) << result.output;
  EXPECT_NE(result.output.find(reason), std::string::npos) << reason << " is not in: " << result.output;
}

TEST(NcclIsNotUsable, WithoutItsLibrary) {
  expect_refusal(with({{"TUTTI_NCCL_LIBRARY", "/no/such/libnccl.so"}}),
                 "TUTTI_NCCL_LIBRARY: /no/such/libnccl.so: cannot open shared object file");
}

TEST(NcclIsNotUsable, WithAnotherLibrary) {
  expect_refusal(with({{"TUTTI_NCCL_LIBRARY", "libdl.so.2"}}), "is not an NCCL library");
}

TEST(NcclIsNotUsable, WhenItIsTooOld) {
  expect_refusal(with({{"FAKE_NCCL_VERSION", "2804"}}),
                 "is NCCL 2.8.4 (a fake of the tests); 2.14.0 or newer is needed");
}

TEST(NcclIsNotUsable, WithoutADriver) {
  expect_refusal(with({{"FAKE_CUDA_DRIVER", "0"}}), "was found but cannot be used: ");
}

TEST(NcclIsNotUsable, WithoutAGpu) {
  expect_refusal(with({{"CUDA_VISIBLE_DEVICES", ""}, {"FAKE_CUDA_DEVICES", "0"}}), "was found but cannot be used: ");
}

// The real library on a machine without a driver.
TEST(NcclIsNotUsable, WhereTheRealOneFindsNoDriver) {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr)
    GTEST_SKIP() << "this machine has an NVIDIA driver (libcuda.so.1)";
  const CommandResult result = run_command({TUTTI_TEST_COMMAND, "info", "--json"}, {}, 60s);
  ASSERT_EQ(result.code, 0) << result.output;
  const std::size_t row = result.output.find("Collective Communications Library (NCCL)");
  ASSERT_NE(row, std::string::npos) << result.output;
  EXPECT_NE(result.output.find("was found but cannot be used: there is no NVIDIA driver"), std::string::npos)
      << result.output;
}

}  // namespace
}  // namespace tutti::test
