// A backend that knows no streams but takes device memory by its addresses is given it, in the order of the stream, and
// nothing is copied through the host.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <vector>

#include "support/device_support.hpp"
#include "support/rank_threads.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

const int prepared = setenv("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES, 1);  // NOLINT

constexpr int kRanks = 2;
constexpr std::size_t kCount = 3'000'001;  // several pieces, were it staged

/// Counts bytes that an operation of the library's had copied.
class TrafficCounter final : public Observer {
 public:
  TrafficCounter() : previous_(set_observer(this)) {}
  ~TrafficCounter() override { set_observer(previous_); }
  using Observer::on;
  void on(const Traffic& record) noexcept override {
    if (record.cause != 0) bytes_ += record.bytes;
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::atomic<std::uint64_t> bytes_ = 0;
  Observer* previous_;
};

/// Two sums in place, one behind the other on a stream; returns the bytes that were copied for them.
std::uint64_t sum_twice(const char* reaches, ReduceOptions how = {}) {
  RankOptions options;
  (void)backends();  // the module's settings are known once it is
  options.communicator.config.set("TUTTI_BACKEND", "minimal").set("TUTTI_MINIMAL_REACHES", reaches);
  const TrafficCounter traffic;
  EXPECT_EQ("", describe(run_ranks(
                    kRanks,
                    [&](const Communicator& comm) {
                      const Device device = rank_devices("threaded")[static_cast<std::size_t>(comm.rank())];
                      const auto own = spi::device_runtime(device).make_stream(device);
                      const DeviceArray array(own->stream(), MemoryKind::device, kCount * sizeof(float));
                      std::vector<float> values(kCount, static_cast<float>(comm.rank() + 1));
                      array.write(values.data(), kCount * sizeof(float));
                      const Buffer data(array.data(), kCount, DataType::float32, array.where());
                      ReduceOptions call = how;
                      call.stream = own->stream();
                      comm.allreduce(data, call);
                      comm.allreduce(data, call).wait();
                      array.read(values.data(), kCount * sizeof(float));
                      const float expected = how.op == Reduction::max ? 2.0F : 6.0F;
                      for (const float value : values) ASSERT_EQ(value, expected);
                    },
                    options)));
  return traffic.bytes();
}

TEST(ReachedMemory, IsNotCopied) { EXPECT_EQ(sum_twice("1"), 0U); }

TEST(ReachedMemory, OtherwiseItIs) { EXPECT_EQ(sum_twice("0"), 2U * 2U * kRanks * kCount * sizeof(float)); }

// Emulation works with the host's hands.
TEST(ReachedMemory, WhatTheBackendLacksIsStagedAllTheSame) { EXPECT_GT(sum_twice("1", {.op = Reduction::max}), 0U); }

}  // namespace
}  // namespace tutti::test
