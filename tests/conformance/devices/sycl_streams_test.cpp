// Operations on queues of the application: their order, the waits of the host, and refused arguments.
#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <thread>
#include <tutti/sycl.hpp>

#include "support/devices/device_support.hpp"
#include "support/devices/sycl_application.hpp"
#include "support/observers/operation_sums.hpp"
#include "support/rank_threads.hpp"
#include "support/refusals.hpp"
#include "support/required_backends.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

// A program that uses SYCL directly must name the driver of its devices.
const int prepared = setenv("OCL_ICD_FILENAMES", TUTTI_TEST_CPU_DRIVER, 0);  // NOLINT

constexpr std::size_t kCount = 1'100'003;  // more than one piece

RankOptions native() { return {.communicator = {.config = Config().set("TUTTI_BACKEND", "native")}}; }

class SyclStreams : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_device("sycl"); !reason.empty()) TUTTI_SKIP_OR_FAIL("sycl", reason);
    devices_ = rank_devices("sycl");
  }
  [[nodiscard]] Device device(int rank) const { return devices_[static_cast<std::size_t>(rank) % devices_.size()]; }

  std::vector<Device> devices_;
};

class SyclStreamOrder : public SyclStreams, public testing::WithParamInterface<bool> {};

// A kernel writes the input, then the operations, then a kernel reads the output. The first kernel cannot begin before
// every rank has enqueued everything.
TEST_P(SyclStreamOrder, OperationsTakeTheirPlaceAndTheHostGoesOn) {
  constexpr int kRanks = 2;
  std::atomic<bool> is_open = false;
  std::atomic<int> enqueued = 0;
  const auto rank = [&](const Communicator& comm) {
    SyclApplication app(device(comm.rank()), GetParam());
    float* input = ::sycl::malloc_device<float>(kCount, app.queue);
    float* output = ::sycl::malloc_device<float>(kCount, app.queue);
    float* result = ::sycl::malloc_host<float>(kCount, app.queue);
    const ::sycl::event gate = app.queue.submit([&](::sycl::handler& handler) {
      handler.host_task([&] {
        while (!is_open) std::this_thread::sleep_for(1ms);
      });
    });
    app.launch("produce", {gate}, input, std::uint64_t{kCount}, comm.rank());
    const Stream stream = tutti::sycl::stream(app.queue);
    Work first = comm.allreduce(ConstBuffer(input, kCount), Buffer(output, kCount), {.stream = stream});
    // An operation in place, whose Work is dropped.
    comm.allreduce(Buffer(output, kCount), {.op = Reduction::max, .stream = stream});
    const ::sycl::event last = app.launch("consume", {}, output, result, std::uint64_t{kCount});
    EXPECT_FALSE(is_open) << "the calls must return before the input is written";
    EXPECT_FALSE(first.ready());
    if (++enqueued == kRanks) is_open = true;
    SyclApplication::wait_for(last);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      if (result[i] != 2 * static_cast<float>(i % 1000) + 1000 + 1) ++wrong;
    }
    EXPECT_EQ(wrong, 0u) << "first " << result[0];
    EXPECT_TRUE(first.ready()) << "the operation must be complete when later work of the queue is";
    comm.barrier();
    for (float* pointer : {input, output, result}) ::sycl::free(pointer, app.queue);
  };
  EXPECT_EQ("", describe(run_ranks(kRanks, rank, native())));
}

// The application may destroy the queue as soon as the call has returned.
TEST_P(SyclStreamOrder, TheQueueObjectMayGo) {
  const auto rank = [&](const Communicator& comm) {
    auto queue = std::make_unique<::sycl::queue>(tutti::sycl::device(device(comm.rank())),
                                                 SyclApplication::properties(GetParam()));
    const ::sycl::context context = queue->get_context();
    float* data = ::sycl::malloc_device<float>(kCount, *queue);
    queue->fill(data, 1.0F, kCount).wait();
    Work work = comm.allreduce(Buffer(data, kCount), {.stream = tutti::sycl::stream(*queue)});
    queue.reset();
    work.wait();
    ::sycl::queue reader(context, context.get_devices()[0]);
    std::vector<float> got(kCount);
    reader.memcpy(got.data(), data, kCount * sizeof(float)).wait();
    EXPECT_EQ(got, std::vector<float>(kCount, 2.0F));
    ::sycl::free(data, context);
  };
  EXPECT_EQ("", describe(run_ranks(2, rank, native())));
}

INSTANTIATE_TEST_SUITE_P(Queues, SyclStreamOrder, testing::Bool(),
                         [](const auto& kind) { return std::string(kind.param ? "in_order" : "out_of_order"); });

TEST_F(SyclStreams, QueuesAreRecognised) {
  ::sycl::queue mine(tutti::sycl::device(devices_[0]));
  EXPECT_EQ(tutti::sycl::stream(mine).device(), devices_[0]);
  ::sycl::queue whole(tutti::sycl::device(Device::parse("sycl:0")));
  EXPECT_EQ(tutti::sycl::stream(whole).device(), Device::parse("sycl:0"));
}

TEST_F(SyclStreams, BuffersThatAreNotOfTheStreamAreRefused) {
  const Communicator comm = local_group(1)[0];
  ::sycl::queue queue(tutti::sycl::device(devices_[0]));
  const Stream stream = tutti::sycl::stream(queue);
  std::vector<float> ordinary(16);
  expect_words(refusal(comm, Buffer(ordinary), stream),
               {"allreduce(sum) of 16 float32", "input is memory outside the stream's context", "ordinary host memory",
                "the stream on " + devices_[0].name()});

  float* data = ::sycl::malloc_device<float>(16, queue);
  const Memory shared{devices_[0], MemoryKind::shared};
  expect_words(refusal(comm, Buffer(data, 16, shared), stream), {"is device memory", "was given as shared memory"});
  // The application has another context than tutti.
  expect_words(refusal(comm, Buffer(data, 16, Memory{devices_[0], MemoryKind::device}), {}),
               {"of another context", "pass a stream"});
  expect_words(refusal(comm, Buffer(data, 16, Memory{{}, MemoryKind::device}), {}), {"without its device"});
  ::sycl::free(data, queue);
  expect_words(refusal(comm, Buffer(data, 16), stream), {"freed"});
}

TEST_F(SyclStreams, BuffersOfAnotherDeviceThanTheStreamAreRefused) {
  if (devices_.size() < 2) GTEST_SKIP() << "there is one SYCL device only: " << devices_[0].name();
  const Communicator comm = local_group(1)[0];
  ::sycl::queue queue(tutti::sycl::device(devices_[0]));
  const Stream stream = tutti::sycl::stream(queue);
  const DeviceArray other(spi::device_runtime(devices_[1]).stream(devices_[1]), MemoryKind::device, 64);
  expect_words(refusal(comm, Buffer(static_cast<float*>(other.data()), 16), stream),
               {"device memory of " + devices_[1].name() + " in another context"});
  expect_words(refusal(comm, Buffer(static_cast<float*>(other.data()), 16, other.where()), stream),
               {"device memory of " + devices_[1].name(), "together with a stream of " + devices_[0].name()});
}

TEST_F(SyclStreams, StrictModeForbidsStaging) {
  const Communicator comm = local_group(1, {.config = Config().set("TUTTI_STRICT", "1")})[0];
  ::sycl::queue queue(tutti::sycl::device(devices_[0]));
  float* data = ::sycl::malloc_device<float>(16, queue);
  try {
    comm.allreduce(Buffer(data, 16), {.stream = tutti::sycl::stream(queue)});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    expect_words(error.what(), {"native", "device memory of " + devices_[0].name(), "TUTTI_STRICT"});
  }
  ::sycl::free(data, queue);
}

// After an abort, queues must not wait for the aborted operation any more.
TEST_F(SyclStreams, AQueueGoesOnAfterAnAbort) {
  const auto rank = [&](const Communicator& comm) {
    ::sycl::queue queue(tutti::sycl::device(device(comm.rank())));
    float* data = ::sycl::malloc_device<float>(16, queue);
    if (comm.rank() == 0) {
      Work work = comm.allreduce(Buffer(data, 16), {.stream = tutti::sycl::stream(queue)});
      std::this_thread::sleep_for(20ms);
      EXPECT_FALSE(work.ready()) << "rank 1 has not called the operation";
      comm.abort();
      EXPECT_THROW(work.wait(), Error);
      queue.wait();
      EXPECT_THROW(comm.allreduce(Buffer(data, 16), {.stream = tutti::sycl::stream(queue)}), Error);
    }
    ::sycl::free(data, queue);
  };
  EXPECT_EQ("", describe(run_ranks(2, rank, native())));
}

TEST_F(SyclStreams, WhatAnOperationCausedIsReported) {
  const Communicator comm = local_group(1, {.config = Config().set("TUTTI_BACKEND", "native")})[0];
  ::sycl::queue queue(tutti::sycl::device(devices_[0]));
  constexpr std::size_t kPiece = std::size_t{4} << 20;
  constexpr std::size_t kElements = 5 * kPiece / sizeof(float) / 2;  // two pieces and a half
  float* data = ::sycl::malloc_device<float>(kElements, queue);
  queue.fill(data, 1.0F, kElements).wait();
  OperationSums sums;
  comm.allreduce(Buffer(data, kElements), {.stream = tutti::sycl::stream(queue)}).wait();
  EXPECT_EQ(sums.take(), (std::map<std::string, std::uint64_t>{{"issued", 1},
                                                               {"completed", 1},
                                                               {"device->host", kElements * sizeof(float)},
                                                               {"host->device", kElements * sizeof(float)},
                                                               {"copy", 6},
                                                               {"pinned", 4 * kPiece}}));
  // The second operation reuses the pinned memory.
  comm.broadcast(Buffer(data, 16), 0, {.stream = tutti::sycl::stream(queue)}).wait();
  EXPECT_EQ(sums.take(),
            (std::map<std::string, std::uint64_t>{
                {"issued", 1}, {"completed", 1}, {"device->host", 64}, {"host->device", 64}, {"copy", 2}}));
  ::sycl::free(data, queue);
}

TEST_F(SyclStreams, RanksOfOneContextCombineOnTheDevice) {
  constexpr std::size_t kElements = 100'003;
  ::sycl::queue first(tutti::sycl::device(devices_[0]));
  OperationSums sums;
  const auto rank = [&](const Communicator& comm) {
    ::sycl::queue queue(first.get_context(), first.get_device());
    float* data = ::sycl::malloc_device<float>(kElements, queue);
    queue.fill(data, static_cast<float>(comm.rank() + 1), kElements).wait();
    comm.allreduce(Buffer(data, kElements), {.op = Reduction::average, .stream = tutti::sycl::stream(queue)}).wait();
    std::vector<float> result(kElements);
    queue.copy(data, result.data(), kElements).wait();
    EXPECT_EQ(result, std::vector<float>(kElements, 1.5F));
    ::sycl::free(data, queue);
  };
  EXPECT_EQ("", describe(run_ranks(2, rank, native())));
  // Each rank reduces its share and copies the share of the other. The memory for staging is allocated before the ranks
  // know that they do not need it.
  EXPECT_EQ(sums.take(),
            (std::map<std::string, std::uint64_t>{{"issued", 2},
                                                  {"completed", 2},
                                                  {"device->device", kElements * sizeof(float)},
                                                  {"copy", 2},
                                                  {"reduce", 2},
                                                  {"pinned", 2 * 2 * std::bit_ceil(kElements * sizeof(float))}}));
}

}  // namespace
}  // namespace tutti::test
