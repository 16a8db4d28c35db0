// The source of SYCL with a stand-in for the Unified Runtime that tells the free memory of a device, which runtimes for
// CPUs do not.
#include "profiled_run.hpp"
#include "session/owner_names.hpp"

namespace tutti::test {
namespace {

using profiling::Kind;

constexpr const char* kTitle = "BACKEND_UR";

TEST(UnifiedRuntime, MemoryInUseOnTheDeviceIsSeenAsWell) {
  const ProfiledRun run({TUTTI_TEST_PROGRAM, TUTTI_TEST_SOURCE}, {{"FAKE_UR_GROWTH", "5000000"}});
  ASSERT_EQ(run.result.code, 0) << run.result.output;
  const std::string used(profiling::kUsedOnDevice);
  const std::map<std::string, Sum> allocations = {{"device memory", {1, 0, 1000}}, {used, {1, 0, 5'000'000}}};
  EXPECT_EQ(run.sums(Kind::allocation, kTitle), allocations);
  const std::map<std::string, Sum> releases = {{"device memory", {1, 0, 1000}}};
  EXPECT_EQ(run.sums(Kind::release, kTitle), releases);
  ASSERT_EQ(run.profile.devices.size(), 1U);
  EXPECT_EQ(run.profile.devices[0].name, "stand-in GPU");
}

TEST(UnifiedRuntime, DeviceThatDoesNotTellHasNoRow) {
  const ProfiledRun run({TUTTI_TEST_PROGRAM, TUTTI_TEST_SOURCE}, {});
  ASSERT_EQ(run.result.code, 0) << run.result.output;
  const std::map<std::string, Sum> allocations = {{"device memory", {1, 0, 1000}}};
  EXPECT_EQ(run.sums(Kind::allocation, kTitle), allocations);
}

}  // namespace
}  // namespace tutti::test
