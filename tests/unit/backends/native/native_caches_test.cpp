// Cache sizes from the kernel's files in /sys, some of which are missing in virtual machines and containers.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "caches.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::native {
namespace {

/// A folder like /sys/devices/system/cpu/cpu0/cache.
class Caches : public testing::Test {
 protected:
  void add(std::string_view level, std::string_view type, std::string_view size, std::string_view cores) {
    const std::string cache = "index" + std::to_string(count_++);
    folder_.add(cache + "/level", level);
    folder_.add(cache + "/type", type);
    folder_.add(cache + "/size", size);
    folder_.add(cache + "/shared_cpu_list", cores);
  }
  [[nodiscard]] CacheSizes sizes() const { return cache_sizes(folder_.path().string()); }

 private:
  test::TemporaryFolder folder_;
  int count_ = 0;
};

TEST_F(Caches, AreReadFromTheKernel) {
  add("1", "Data", "32K", "0");
  add("1", "Instruction", "64K", "0");
  add("2", "Unified", "1024K", "0");
  add("3", "Unified", "32768K", "0-3,8-11");
  EXPECT_EQ(sizes().level2, 1U << 20);
  EXPECT_EQ(sizes().last_level, 32U << 20);
  EXPECT_EQ(sizes().last_level_cores, 8);
}

TEST_F(Caches, WithoutAThirdLevelTheSecondIsTheLast) {
  add("1", "Data", "32K", "0");
  add("2", "Unified", "2M", "0-1");
  EXPECT_EQ(sizes().level2, 2U << 20);
  EXPECT_EQ(sizes().last_level, 2U << 20);
  EXPECT_EQ(sizes().last_level_cores, 2);
}

TEST_F(Caches, UnknownOnesHaveUsualSizes) {
  EXPECT_EQ(sizes().level2, 512U << 10);
  EXPECT_EQ(sizes().last_level, 16U << 20);
  EXPECT_EQ(sizes().last_level_cores, 1);
}

TEST_F(Caches, NonsenseIsPassedOver) {
  add("2", "Unified", "lots", "0");
  add("3", "Unified", "8192K", "7-3,x");
  EXPECT_EQ(sizes().level2, 512U << 10);
  EXPECT_EQ(sizes().last_level, 8U << 20);
  EXPECT_EQ(sizes().last_level_cores, 1);
}

TEST(CacheSizes, StreamingBeginsWhereTheRanksOfOneCacheFillIt) {
  const CacheSizes caches = {.level2 = 1U << 20, .last_level = 32U << 20, .last_level_cores = 4, .cores = 16};
  EXPECT_EQ(caches.streaming_from(1), 16U << 20);
  EXPECT_EQ(caches.streaming_from(2), 8U << 20);
  EXPECT_EQ(caches.streaming_from(4), 4U << 20);
  EXPECT_EQ(caches.streaming_from(16), 4U << 20) << "only 4 of the 16 ranks share a cache";
  EXPECT_EQ(caches.streaming_from(32), 2U << 20) << "with two ranks per core, 8 ranks share a cache";
}

TEST(CacheSizes, OfThisMachineMakeSense) {
  EXPECT_GE(cache_sizes().level2, 16U << 10);
  EXPECT_GE(cache_sizes().last_level, cache_sizes().level2);
  EXPECT_GE(cache_sizes().last_level_cores, 1);
}

}  // namespace
}  // namespace tutti::native
