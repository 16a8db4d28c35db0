// The source of CUDA: against a stand-in that plays CUPTI's callbacks and records, and with the real library, which
// finds no GPU here.
#include <dlfcn.h>

#include "profiled_run.hpp"

namespace tutti::test {
namespace {

using profiling::Kind;

constexpr const char* kTitle = "BACKEND_CUDA";
constexpr std::uint64_t kRounds = 10'000;  // fills several buffers
constexpr std::uint64_t kAll = 2 * kRounds;

ProfiledRun run(std::map<std::string, std::string> more = {}, std::uint64_t rounds = kRounds) {
  more.insert({{"LD_LIBRARY_PATH", TUTTI_TEST_FAKE_CUPTI}, {"TUTTI_PROF_MEMORY", "256M"}});
  return {{TUTTI_TEST_PROGRAM, TUTTI_TEST_SOURCE, std::to_string(rounds)}, more};
}

TEST(CudaSource, CallsAreThoseThatWerePlayed) {
  const std::map<std::string, Sum> outermost = {{"cudaMalloc", {2 * kAll, kAll, 0}}, {"cudaMemcpy", {kAll, 0, 0}},
                                                {"cudaLaunchKernel", {kAll, 0, 0}},  {"cudaMemset", {kAll, 0, 0}},
                                                {"cuCtxSynchronize", {kAll, 0, 0}},  {"cudaFree", {kAll, 0, 0}}};
  const ProfiledRun standard = run();
  ASSERT_EQ(standard.result.code, 0) << standard.result.output;
  EXPECT_EQ(standard.sums(Kind::host, kTitle), outermost);

  auto all = outermost;
  all["cuMemcpyHtoD_v2"] = {kAll, 0, 0};
  all["cudaEventQuery"] = {kAll, 0, 0};
  const ProfiledRun full = run({{"TUTTI_PROF_MODE", "full"}});
  ASSERT_EQ(full.result.code, 0) << full.result.output;
  EXPECT_EQ(full.sums(Kind::host, kTitle), all);
}

TEST(CudaSource, DeviceWorkMemoryAndTrafficAreThoseThatWerePlayed) {
  const ProfiledRun run = tutti::test::run();
  ASSERT_EQ(run.result.code, 0) << run.result.output;
  const std::map<std::string, Sum> traffic = {{"cudaMemcpy(M2D)", {kAll, 0, kAll * 1000}},
                                              {"cudaMemset(S)", {kAll, 0, kAll * 10}}};
  EXPECT_EQ(run.sums(Kind::traffic, kTitle), traffic);
  const std::map<std::string, Sum> memory = {{"device memory", {kAll, 0, kAll * 1000}}};
  EXPECT_EQ(run.sums(Kind::allocation, kTitle), memory);
  EXPECT_EQ(run.sums(Kind::release, kTitle), memory);
  const std::map<std::string, std::uint64_t> work = {
      {"void app::axpy<float>()", kRounds}, {"cudaMemcpy(M2D)", kRounds}, {"cudaMemset(S)", kRounds}};
  std::map<std::uint64_t, std::map<std::string, std::uint64_t>> by_device;
  for (const auto& [key, calls] : run.device_calls()) {
    EXPECT_EQ(std::get<1>(key), 0u);
    by_device[std::get<0>(key)][std::get<2>(key)] += calls;
  }
  ASSERT_EQ(by_device.size(), 2u);
  for (const auto& [device, calls] : by_device) EXPECT_EQ(calls, work) << device;
}

TEST(CudaSource, MemoryInUseOnTheDevicesIsSeenAsWell) {
  const ProfiledRun run = tutti::test::run({{"FAKE_NVML_GROWTH", "5000000"}});
  ASSERT_EQ(run.result.code, 0) << run.result.output;
  auto allocations = run.sums(Kind::allocation, kTitle);
  EXPECT_EQ(allocations["in use on the device"], (Sum{2, 0, 10'000'000}));
  EXPECT_EQ(allocations["device memory"], (Sum{kAll, 0, kAll * 1000}));
  std::map<int, std::uint64_t> peaks;
  for (const auto& row : run.profile.memory) {
    if (row.owner == "in use on the device") peaks[row.device] = row.peak_bytes;
  }
  ASSERT_EQ(peaks.size(), 2U);
  for (const auto& [device, peak] : peaks) EXPECT_EQ(peak, 5'000'000U) << device;
}

TEST(CudaSource, DeviceWorkBelongsToItsCall) {
  const ProfiledRun run = tutti::test::run({}, 20);
  ASSERT_EQ(run.result.code, 0) << run.result.output;
  expect_plausible_intervals(run.profile, 2 * 20 * 3);
}

TEST(CudaSource, RealLibraryHasAllFunctions) {
  void* cupti = dlopen(TUTTI_TEST_REAL_CUPTI, RTLD_NOW);
  ASSERT_NE(cupti, nullptr) << dlerror();
  for (const char* name :
       {"cuptiGetVersion", "cuptiSubscribe", "cuptiEnableDomain", "cuptiActivityRegisterCallbacks",
        "cuptiActivityRegisterTimestampCallback", "cuptiActivityEnable", "cuptiActivityGetNextRecord",
        "cuptiActivityGetNumDroppedRecords", "cuptiActivityFlushAll", "cuptiActivityFlushPeriod"})
    EXPECT_NE(dlsym(cupti, name), nullptr) << name;
}

// The program plays to the stand-in, which is linked to it; the source is given the real library.
TEST(CudaSource, SaysNothingWithTheRealLibraryAndNoGpu) {
  const ProfiledRun run({TUTTI_TEST_IDLE_PROGRAM, TUTTI_TEST_SOURCE}, {{"LD_LIBRARY_PATH", TUTTI_TEST_REAL_FOLDER}});
  EXPECT_EQ(run.result.code, 0);
  EXPECT_EQ(run.result.output, "done\n");
  EXPECT_TRUE(run.profile.rows.empty());
}

TEST(CudaSource, ProgramsAreTheSameWhenItIsNotWanted) {
  for (const auto& [name, value] :
       {std::pair{"TUTTI_PROF_SOURCES", "mpi"}, {"TUTTI_PROF_MODE", "minimal"}, {"TUTTI_PROF_PAUSED", "1"}}) {
    const ProfiledRun run = tutti::test::run({{name, value}}, 20);
    ASSERT_EQ(run.result.code, 0) << run.result.output;
    EXPECT_EQ(run.result.output, "done\n");
    EXPECT_TRUE(run.profile.rows.empty()) << name;
  }
}

}  // namespace
}  // namespace tutti::test
