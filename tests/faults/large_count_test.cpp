// More elements than a signed 32-bit integer can count.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "support/rank_threads.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

constexpr std::uint64_t kCount = (std::uint64_t{1} << 31) + 17;
constexpr std::uint64_t kNeededKiB = std::uint64_t{12} << 20;

std::uint64_t available_kib() {
  std::ifstream file("/proc/meminfo");
  for (std::string word; file >> word;) {
    std::uint64_t value = 0;
    if (word == "MemAvailable:" && file >> value) return value;
  }
  return 0;
}

// The upper bits of a product. The values do not repeat at any power of two, so that data at a wrong offset is noticed.
std::int8_t value_at(std::uint64_t index, int rank) {
  return static_cast<std::int8_t>((index * 0x9E3779B97F4A7C15u >> 56) + static_cast<std::uint64_t>(rank));
}

class LargeCount : public testing::Test {
 protected:
  void SetUp() override {
    const std::uint64_t available = available_kib();
    if (available < kNeededKiB) GTEST_SKIP() << "needs 12 GB of memory, " << (available >> 20) << " GB are available";
  }
};

TEST_F(LargeCount, BroadcastAndAllreduceOfMoreThan31Bits) {
  RankOptions options;
  options.deadline = std::chrono::minutes(4);
  TUTTI_EXPECT_RANKS(
      2,
      [](const Communicator& comm) {
        const auto data = std::make_unique_for_overwrite<std::int8_t[]>(kCount);
        const Buffer buffer(data.get(), kCount);
        for (std::uint64_t i = 0; i < kCount; ++i) data[i] = comm.rank() == 1 ? value_at(i, 1) : std::int8_t{0};
        comm.broadcast(buffer, 1);
        std::uint64_t wrong = 0;
        for (std::uint64_t i = 0; i < kCount; ++i) wrong += data[i] != value_at(i, 1);
        EXPECT_EQ(wrong, 0u) << "wrong elements after the broadcast on rank " << comm.rank();

        for (std::uint64_t i = 0; i < kCount; ++i) data[i] = value_at(i, comm.rank());
        comm.allreduce(buffer, {.op = Reduction::sum});
        wrong = 0;
        for (std::uint64_t i = 0; i < kCount; ++i) {
          wrong += data[i] != static_cast<std::int8_t>(value_at(i, 0) + value_at(i, 1));
        }
        EXPECT_EQ(wrong, 0u) << "wrong elements after the allreduce on rank " << comm.rank();
      },
      options);
}

}  // namespace
}  // namespace tutti::test
