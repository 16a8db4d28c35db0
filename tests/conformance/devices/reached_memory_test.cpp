// A backend without streams that can use device addresses gets the device memory in the order of the stream; no data is
// copied through the host.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <vector>

#include "support/devices/device_support.hpp"
#include "support/rank_threads.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

const int prepared = setenv("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES, 1);  // NOLINT

constexpr int kRanks = 2;
constexpr std::size_t kCount = 3'000'001;  // staging would split this into several pieces

/// Counts the bytes that operations of the library copy.
class TrafficCounter final : public Observer {
 public:
  using Observer::on;
  void on(const Traffic& record) noexcept override {
    if (record.cause != 0) bytes_ += record.bytes;
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::atomic<std::uint64_t> bytes_ = 0;
  ObserverHandle handle_ = add_observer(*this);  // last: removed before the records go
};

RankOptions minimal(const char* reaches, const char* strict) {
  RankOptions options;
  options.communicator.config.set("TUTTI_BACKEND", "minimal")
      .set("TUTTI_MINIMAL_REACHES", reaches)
      .set("TUTTI_STRICT", strict);
  return options;
}

/// Runs two sums in place, one after the other on a stream; returns the bytes that were copied for them.
std::uint64_t sum_twice(const char* reaches, ReduceOptions how = {}, const char* strict = "0") {
  const RankOptions options = minimal(reaches, strict);
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

TEST(ReachedMemory, IsNotCopied) { EXPECT_EQ(sum_twice("yes"), 0U); }

TEST(ReachedMemory, OtherwiseItIs) {
  EXPECT_EQ(sum_twice("no"), 2U * 2U * kRanks * kCount * sizeof(float));
  EXPECT_EQ(sum_twice("perhaps"), 2U * 2U * kRanks * kCount * sizeof(float));
}

TEST(ReachedMemory, IsNotRefusedInStrictMode) { EXPECT_EQ(sum_twice("yes", {}, "1"), 0U); }

// Emulation runs on the host, so it needs staging.
TEST(ReachedMemory, WhatTheBackendLacksIsStagedAllTheSame) { EXPECT_GT(sum_twice("yes", {.op = Reduction::max}), 0U); }

/// Runs `body` on each rank with memory of its device, in strict mode.
void in_strict_mode(const char* reaches, MemoryKind kind,
                    const std::function<void(const Communicator&, const Buffer&, const Stream&)>& body) {
  const auto rank = [&](const Communicator& comm) {
    const Device device = rank_devices("threaded")[static_cast<std::size_t>(comm.rank())];
    const auto own = spi::device_runtime(device).make_stream(device);
    const DeviceArray array(own->stream(), kind, 16 * sizeof(float));
    const std::vector<float> values(16, 1.0F);
    array.write(values.data(), 16 * sizeof(float));
    body(comm, Buffer(array.data(), 16, DataType::float32, array.where()), own->stream());
  };
  EXPECT_EQ("", describe(run_ranks(kRanks, rank, minimal(reaches, "1"))));
}

void expect_refusal(const std::function<void()>& body) {
  try {
    body();
    ADD_FAILURE() << "the call was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    EXPECT_NE(std::string_view(error.what()).find("device memory of threaded"), std::string_view::npos) << error.what();
    EXPECT_NE(std::string_view(error.what()).find("TUTTI_STRICT"), std::string_view::npos) << error.what();
  }
}

TEST(StrictMode, RefusesAtOnceWhatIsNeverReached) {
  in_strict_mode("no", MemoryKind::device, [](const Communicator& comm, const Buffer& data, const Stream& stream) {
    expect_refusal([&] { (void)comm.allreduce(data, {.stream = stream}); });
    expect_refusal([&] { (void)comm.allreduce(data); });
    expect_refusal([&] { comm.group([&] { (void)comm.allreduce(data, {.stream = stream}); }); });
    std::vector<float> here(16, 1.0F);
    comm.allreduce(here);
    EXPECT_EQ(here, std::vector<float>(16, 2.0F));
  });
}

// On a stream, the call itself cannot know yet whether the backend can use the memory. The error comes from wait() or
// from the next call.
TEST(StrictMode, RefusesLaterWhatTurnsOutNotToBeReached) {
  in_strict_mode("perhaps", MemoryKind::device, [](const Communicator& comm, const Buffer& data, const Stream& stream) {
    Work work = comm.allreduce(data, {.stream = stream});
    expect_refusal([&] { work.wait(); });
    expect_refusal([&] { (void)comm.allreduce(data, {.stream = stream}); });
  });
  in_strict_mode("perhaps", MemoryKind::device, [](const Communicator& comm, const Buffer& data, const Stream&) {
    expect_refusal([&] { (void)comm.allreduce(data); });
  });
}

// The host accesses shared memory directly, without staging.
TEST(StrictMode, TakesMemoryThatTheHostReaches) {
  in_strict_mode("no", MemoryKind::shared, [](const Communicator& comm, const Buffer& data, const Stream& stream) {
    const auto values = [&] {
      std::vector<float> here(16);
      spi::device_runtime(stream.device()).copy(stream, Buffer(here), data)->wait();
      return here;
    };
    comm.allreduce(data, {.stream = stream}).wait();
    EXPECT_EQ(values(), std::vector<float>(16, 2.0F));
    comm.group([&] { (void)comm.allreduce(data, {.stream = stream}); });
    EXPECT_EQ(values(), std::vector<float>(16, 4.0F));
  });
}

}  // namespace
}  // namespace tutti::test
