// Ranks that are processes access each other's device memory: no data goes through the host, and no rank hangs when
// another dies.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "support/required_backends.hpp"
#include "support/system/subprocess.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Environment = std::map<std::string, std::string>;

/// Bytes of three blocks, one per operation.
constexpr std::uint64_t kBytes = std::uint64_t{3} << 20;

std::vector<Subprocess> start_ranks(int size, const std::string& how, const std::string& module,
                                    const Environment& more = {}) {
  static int job = 0;
  const std::string port = std::to_string(10000 + (getpid() * 7 + job++) % 50000);
  std::vector<Subprocess> ranks;
  for (int rank = 0; rank < size; ++rank) {
    Environment environment = {{"RANK", std::to_string(rank)},
                               {"WORLD_SIZE", std::to_string(size)},
                               {"MASTER_ADDR", "127.0.0.1"},
                               {"MASTER_PORT", port},
                               {"TUTTI_BACKEND", "native"},
                               {"TUTTI_CUDA_LIBRARY", TUTTI_TEST_CUDA_LIBRARY},
                               {"ZE_ENABLE_ALT_DRIVERS", TUTTI_TEST_LEVEL_ZERO_DRIVER}};
    environment.insert(more.begin(), more.end());
    ranks.emplace_back(std::vector<std::string>{TUTTI_TEST_REACH_PROGRAM, how, module}, environment);
  }
  return ranks;
}

class DeviceReach : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string library =
        std::string(GetParam()) == "cuda" ? TUTTI_TEST_CUDA_LIBRARY : TUTTI_TEST_LEVEL_ZERO_DRIVER;
    if (library.empty()) TUTTI_SKIP_OR_FAIL(GetParam(), "the fake was not built");
  }

  /// Expects this traffic on each of `size` ranks.
  static void expect_moves(int size, const std::string& moves, const Environment& environment) {
    std::vector<Subprocess> ranks = start_ranks(size, "moves", GetParam(), environment);
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto status = ranks[rank].wait(Clock::now() + 80s);
      ASSERT_TRUE(status.has_value()) << "rank " << rank << " hangs";
      EXPECT_EQ(status->code, 0) << ranks[rank].output();
      const std::string expected = "moves of rank " + std::to_string(rank) + ": " + moves + "\n";
      EXPECT_NE(ranks[rank].output().find(expected), std::string::npos) << expected << ranks[rank].output();
    }
  }
};

TEST_P(DeviceReach, MovesFromDeviceToDeviceOnly) {
  expect_moves(2, "device->device " + std::to_string(2 * kBytes), {});
  expect_moves(3, "device->device " + std::to_string(3 * kBytes), {});
}

TEST_P(DeviceReach, GoesThroughTheHostWhenItIsSwitchedOff) {
  expect_moves(2, "device->host " + std::to_string(kBytes) + " host->device " + std::to_string(2 * kBytes),
               {{"TUTTI_NATIVE_DIRECT", "0"}});
}

TEST_P(DeviceReach, ADeadPeerIsAnErrorOnTheSurvivors) {
  std::vector<Subprocess> ranks = start_ranks(3, "loop", GetParam());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ASSERT_TRUE(ranks[rank].wait_for_output("in the middle", Clock::now() + 60s))
        << "rank " << rank << " did not finish its first operations\n"
        << ranks[rank].output();
  }
  std::this_thread::sleep_for(37ms);  // the kill hits some point within an operation
  const Clock::time_point killed = Clock::now();
  ranks[1].kill(SIGKILL);
  for (const std::size_t rank : {0, 2}) {
    const auto status = ranks[rank].wait(killed + 20s);
    ASSERT_TRUE(status.has_value()) << "rank " << rank << " hangs after rank 1 died";
    EXPECT_EQ(status->code, 42) << ranks[rank].output();
    EXPECT_NE(ranks[rank].output().find("rank 1 died"), std::string::npos) << ranks[rank].output();
    EXPECT_NE(ranks[rank].output().find("allgather #"), std::string::npos) << ranks[rank].output();
  }
}

INSTANTIATE_TEST_SUITE_P(Fakes, DeviceReach, testing::Values("cuda", "level_zero"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace tutti::test
