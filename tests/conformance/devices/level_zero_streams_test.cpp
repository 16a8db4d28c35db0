// Operations on command lists of the application: their order, the waits of the host, and refused arguments.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <tutti/level_zero.hpp>

#include "support/devices/device_environment.hpp"
#include "support/devices/device_support.hpp"
#include "support/devices/level_zero_application.hpp"
#include "support/observers/operation_sums.hpp"
#include "support/rank_threads.hpp"
#include "support/refusals.hpp"
#include "support/required_backends.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using level_zero::CommandList;

constexpr std::size_t kCount = 1'100'003;  // more than one piece

RankOptions native() { return {.communicator = {.config = Config().set("TUTTI_BACKEND", "native")}}; }

class LevelZeroStreams : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_device("level_zero"); !reason.empty()) {
      TUTTI_SKIP_OR_FAIL("level_zero", reason);
    }
    devices_ = rank_devices("level_zero");
  }
  [[nodiscard]] ze_device_handle_t device(int rank) const {
    return level_zero::device(devices_[static_cast<std::size_t>(rank) % devices_.size()]);
  }
  /// Creates an application per rank. They must outlive the communicators, which keep memory in their contexts.
  void make_applications(int ranks, std::uint32_t ordinal = 0, std::uint32_t index = 0) {
    apps_.clear();
    for (int rank = 0; rank < ranks; ++rank) {
      apps_.push_back(std::make_unique<LevelZeroApplication>(device(rank), ordinal, index));
    }
  }
  [[nodiscard]] LevelZeroApplication& app_of(const Communicator& comm) const {
    return *apps_[static_cast<std::size_t>(comm.rank())];
  }
  static CommandList list_of(const LevelZeroApplication& app) {
    return {app.list, app.context, app.device, false, app.ordinal, app.index};
  }

  std::vector<Device> devices_;
  std::vector<std::unique_ptr<LevelZeroApplication>> apps_;
};

// A copy writes the input, then the operations, then a copy reads the output. The first copy cannot begin before every
// rank has enqueued everything.
TEST_F(LevelZeroStreams, OperationsTakeTheirPlaceAndTheHostGoesOn) {
  constexpr int kRanks = 2;
  std::atomic<int> enqueued = 0;
  make_applications(kRanks);
  const auto rank = [&](const Communicator& comm) {
    LevelZeroApplication& app = app_of(comm);
    auto* source = app.host_memory(kCount);
    auto* result = app.host_memory(kCount);
    auto* input = app.device_memory(kCount);
    auto* output = app.device_memory(kCount);
    for (std::size_t i = 0; i < kCount; ++i)
      source[i] = static_cast<float>(i % 1000 + 1000 * static_cast<std::size_t>(comm.rank()));
    const ze_event_handle_t gate = app.event();
    ze_event_handle_t awaited = gate;
    TUTTI_ZE(zeCommandListAppendMemoryCopy(app.list, input, source, kCount * sizeof(float), nullptr, 1, &awaited));
    CommandList list = list_of(app);
    const Stream stream = level_zero::stream(list);
    Work first = comm.allreduce(ConstBuffer(input, kCount), Buffer(output, kCount), {.stream = stream});
    // An operation in place, whose Work is dropped.
    comm.allreduce(Buffer(output, kCount), {.op = Reduction::max, .stream = stream});
    app.copy(result, output, kCount);
    EXPECT_FALSE(first.ready()) << "the calls must return before the input is written";
    ++enqueued;
    while (enqueued < kRanks) std::this_thread::sleep_for(1ms);
    EXPECT_FALSE(first.ready());
    TUTTI_ZE(zeEventHostSignal(gate));
    app.finish();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      if (result[i] != 2 * static_cast<float>(i % 1000) + 1000) ++wrong;
    }
    EXPECT_EQ(wrong, 0u) << "first " << result[0];
    EXPECT_TRUE(first.ready()) << "the operation must be complete when later work of the list is";
    comm.barrier();
  };
  EXPECT_EQ("", describe(run_ranks(kRanks, rank, native())));
}

// The gate of an operation blocks its engine. The commands that tutti needs for the operation must not be behind it.
TEST_F(LevelZeroStreams, TheListMayBeOfAnyEngine) {
  std::uint32_t count = 0;
  TUTTI_ZE(zeDeviceGetCommandQueueGroupProperties(device(0), &count, nullptr));
  std::vector<ze_command_queue_group_properties_t> groups(count);
  TUTTI_ZE(zeDeviceGetCommandQueueGroupProperties(device(0), &count, groups.data()));
  for (std::uint32_t ordinal = 0; ordinal < count; ++ordinal) {
    for (std::uint32_t index = 0; index < groups[ordinal].numQueues; ++index) {
      make_applications(2, ordinal, index);
      const auto rank = [&](const Communicator& comm) {
        LevelZeroApplication& app = app_of(comm);
        auto* data = app.device_memory(kCount);
        auto* seen = app.host_memory(kCount);
        std::fill_n(seen, kCount, static_cast<float>(comm.rank() + 1));
        app.copy(data, seen, kCount);
        CommandList list = list_of(app);
        comm.allreduce(Buffer(data, kCount), {.stream = level_zero::stream(list)});
        app.copy(seen, data, kCount);
        app.finish();
        EXPECT_EQ(seen[kCount - 1], 3.0F) << "engine " << ordinal << "/" << index;
      };
      EXPECT_EQ("", describe(run_ranks(2, rank, native())));
    }
  }
}

TEST_F(LevelZeroStreams, ListsAreRecognised) {
  LevelZeroApplication tile(device(1));
  CommandList list = list_of(tile);
  EXPECT_EQ(level_zero::stream(list).device(), devices_[1]);
  LevelZeroApplication whole(level_zero::device(Device::parse("level_zero:0")));
  list = list_of(whole);
  EXPECT_EQ(level_zero::stream(list).device(), Device::parse("level_zero:0"));

  list.device = nullptr;
  expect_words(error_of([&] { (void)level_zero::stream(list); }, ErrorCode::invalid_argument), {"device is missing"});
  list.device = reinterpret_cast<ze_device_handle_t>(&list);
  expect_words(error_of([&] { (void)level_zero::stream(list); }, ErrorCode::invalid_argument), {"with this handle"});
  list = {};
  expect_words(error_of([&] { (void)level_zero::stream(list); }, ErrorCode::invalid_argument), {"list is missing"});
  (void)error_of([&] { (void)level_zero::device(Device()); }, ErrorCode::config);
}

TEST_F(LevelZeroStreams, BuffersThatAreNotOfTheStreamAreRefused) {
  LevelZeroApplication app(device(0));
  const Communicator comm = local_group(1)[0];
  CommandList list = list_of(app);
  const Stream stream = level_zero::stream(list);
  std::vector<float> ordinary(16);
  expect_words(refusal(comm, Buffer(ordinary), stream),
               {"allreduce(sum) of 16 float32", "input is memory outside the stream's context", "ordinary host memory",
                "the stream on " + devices_[0].name()});

  auto* data = app.device_memory(16);
  const Memory shared{devices_[0], MemoryKind::shared};
  expect_words(refusal(comm, Buffer(data, 16, shared), stream), {"is device memory", "was given as shared memory"});
  // The application has another context than tutti.
  expect_words(refusal(comm, Buffer(data, 16, Memory{devices_[0], MemoryKind::device}), {}),
               {"of another context", "pass a stream"});
  app.free(data);
  expect_words(refusal(comm, Buffer(data, 16), stream), {"freed"});

  LevelZeroApplication second(device(1));
  expect_words(refusal(comm, Buffer(second.device_memory(16), 16), stream), {"of another context"});
  const DeviceArray other(spi::device_runtime(devices_[1]).stream(devices_[1]), MemoryKind::device, 64);
  expect_words(refusal(comm, Buffer(static_cast<float*>(other.data()), 16), stream),
               {"device memory of " + devices_[1].name() + " in another context"});
  expect_words(refusal(comm, Buffer(static_cast<float*>(other.data()), 16, other.where()), stream),
               {"device memory of " + devices_[1].name(), "together with a stream of " + devices_[0].name()});
  const Stream& own = spi::device_runtime(devices_[0]).stream(devices_[0]);
  expect_words(refusal(comm, Buffer(static_cast<float*>(other.data()), 16), own),
               {"input is device memory of " + devices_[1].name()});
}

// After an abort, command lists must not wait for the aborted operation any more.
TEST_F(LevelZeroStreams, AListGoesOnAfterAnAbort) {
  make_applications(1);
  const auto rank = [&](const Communicator& comm) {
    if (comm.rank() != 0) return;
    LevelZeroApplication& app = app_of(comm);
    CommandList list = list_of(app);
    auto* data = app.device_memory(16);
    Work work = comm.allreduce(Buffer(data, 16), {.stream = level_zero::stream(list)});
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(work.ready()) << "rank 1 has not called the operation";
    comm.abort();
    EXPECT_THROW(work.wait(), Error);
    app.finish();
    EXPECT_THROW(comm.allreduce(Buffer(data, 16), {.stream = level_zero::stream(list)}), Error);
  };
  EXPECT_EQ("", describe(run_ranks(2, rank, native())));
}

TEST_F(LevelZeroStreams, WhatAnOperationCausedIsReported) {
  LevelZeroApplication app(device(0));
  CommandList list = list_of(app);
  {
    const Communicator comm = local_group(1, {.config = Config().set("TUTTI_BACKEND", "native")})[0];
    constexpr std::size_t kPiece = std::size_t{4} << 20;
    constexpr std::size_t kElements = 5 * kPiece / sizeof(float) / 2;  // two pieces and a half
    auto* data = app.device_memory(kElements);
    OperationSums sums;
    comm.allreduce(Buffer(data, kElements), {.stream = level_zero::stream(list)}).wait();
    EXPECT_EQ(sums.take(), (std::map<std::string, std::uint64_t>{{"issued", 1},
                                                                 {"completed", 1},
                                                                 {"device->host", kElements * sizeof(float)},
                                                                 {"host->device", kElements * sizeof(float)},
                                                                 {"copy", 6},
                                                                 {"pinned", 4 * kPiece}}));
  }
  // The fake driver fails the process if tutti has left objects in the context.
  app.finish();
}

}  // namespace
}  // namespace tutti::test
