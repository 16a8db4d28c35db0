// Operations on streams of the application, on the fake CUDA: their order, the waits of the host, and refused
// arguments.
#include <atomic>
#include <cstdlib>
#include <thread>
#include <tutti/cuda.hpp>

#include "fakes/cudart/fake_cuda_test_base.hpp"
#include "support/devices/device_support.hpp"
#include "support/observers/operation_sums.hpp"
#include "support/rank_threads.hpp"
#include "support/refusals.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kCount = 1'100'003;  // more than one piece
constexpr std::size_t kBytes = kCount * sizeof(float);

RankOptions native() { return {.communicator = {.config = Config().set("TUTTI_BACKEND", "native")}}; }

/// Kind of CUDA stream that an application uses.
enum class Kind { created, legacy, per_thread };

/// Code of an application on one device: a stream, memory, and kernels.
class Application {
 public:
  Application(int device, Kind kind) : kind_(kind) {
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    if (kind == Kind::created) {
      EXPECT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
    }
    if (kind == Kind::per_thread) stream_ = cudaStreamPerThread;
  }
  ~Application() {
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    for (void* pointer : device_memory_) EXPECT_EQ(cudaFree(pointer), cudaSuccess);
    if (pinned_ != nullptr) {
      EXPECT_EQ(cudaFreeHost(pinned_), cudaSuccess);
    }
    if (kind_ == Kind::created) {
      EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    }
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  float* device_memory(std::size_t count = kCount) {
    EXPECT_EQ(cudaMalloc(&device_memory_.emplace_back(), count * sizeof(float)), cudaSuccess);
    return static_cast<float*>(device_memory_.back());
  }
  float* pinned_memory() {
    EXPECT_EQ(cudaMallocHost(&pinned_, kBytes), cudaSuccess);
    return static_cast<float*>(pinned_);
  }

  /// data[i] = i % 1000 + 1000 * rank
  void produce(float* data, int rank) {
    launch({stream_, data, nullptr, rank, [](const Work& work) {
              float* to = reach(work, work.to);
              for (std::size_t i = 0; i < kCount; ++i)
                to[i] = static_cast<float>(i % 1000) + 1000.0F * static_cast<float>(work.rank);
            }});
  }
  /// result[i] = data[i] + 1
  void consume(const float* data, float* result) {
    launch({stream_, result, data, 0, [](const Work& work) {
              float* to = reach(work, work.to);
              const float* from = reach(work, work.from);
              for (std::size_t i = 0; i < kCount; ++i) to[i] = from[i] + 1;
            }});
  }

 private:
  struct Work {
    cudaStream_t stream;
    float* to;
    const float* from;
    int rank;
    void (*body)(const Work&);
  };
  static float* reach(const Work& work, const float* pointer) {
    // The kernel's thread has no per-thread stream of the caller; the null stream is on the same device.
    cudaStream_t on = work.stream == cudaStreamPerThread ? nullptr : work.stream;
    return static_cast<float*>(fake_cuda_access(on, pointer, kBytes));
  }
  void launch(const Work& work) {
    const auto run = [](void* argument) {
      const std::unique_ptr<Work> mine(static_cast<Work*>(argument));
      mine->body(*mine);
    };
    EXPECT_EQ(fake_cuda_launch(stream_, run, new Work(work)), cudaSuccess);
  }

  Kind kind_;
  cudaStream_t stream_ = nullptr;
  std::vector<void*> device_memory_;
  void* pinned_ = nullptr;
};

class CudaStreams : public FakeCudaTest {
 protected:
  void SetUp() override {
    FakeCudaTest::SetUp();
    ASSERT_EQ(why_no_device("cuda"), "") << "the fake CUDA must always be usable";
  }
};

class CudaStreamOrder : public CudaStreams, public testing::WithParamInterface<Kind> {};

// A kernel writes the input, then the operations, then a kernel reads the output. The first kernel cannot begin before
// every rank has enqueued everything.
TEST_P(CudaStreamOrder, OperationsTakeTheirPlaceAndTheHostGoesOn) {
  constexpr int kRanks = 2;
  std::vector<std::unique_ptr<Holder>> holders(kRanks);
  std::atomic<int> enqueued = 0;
  const auto rank = [&](const Communicator& comm) {
    Application app(comm.rank() % 2, GetParam());
    float* input = app.device_memory();
    float* output = app.device_memory();
    float* result = app.pinned_memory();
    auto& holder = holders[static_cast<std::size_t>(comm.rank())];
    holder = std::make_unique<Holder>(app.stream());
    app.produce(input, comm.rank());
    const Stream stream = tutti::cuda::stream(app.stream());
    Work first = comm.allreduce(ConstBuffer(input, kCount), Buffer(output, kCount), {.stream = stream});
    // An operation in place, whose Work is dropped.
    comm.allreduce(Buffer(output, kCount), {.op = Reduction::max, .stream = stream});
    app.consume(output, result);
    EXPECT_FALSE(holder->is_open) << "the calls must return before the input is written";
    EXPECT_FALSE(first.ready());
    if (++enqueued == kRanks) {
      for (auto& each : holders) each->is_open = true;
    }
    EXPECT_EQ(cudaStreamSynchronize(app.stream()), cudaSuccess);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      if (result[i] != 2 * static_cast<float>(i % 1000) + 1000 + 1) ++wrong;
    }
    EXPECT_EQ(wrong, 0u) << "first " << result[0];
    EXPECT_TRUE(first.ready()) << "the operation must be complete when later work of the stream is";
    comm.barrier();
  };
  EXPECT_EQ("", describe(run_ranks(kRanks, rank, native())));
}

INSTANTIATE_TEST_SUITE_P(Kinds, CudaStreamOrder, testing::Values(Kind::created, Kind::legacy, Kind::per_thread),
                         [](const auto& kind) {
                           return kind.param == Kind::created  ? "created"
                                  : kind.param == Kind::legacy ? "legacy"
                                                               : "per_thread";
                         });

// The application may destroy the stream as soon as the call has returned.
TEST_F(CudaStreams, TheStreamMayGo) {
  const auto rank = [&](const Communicator& comm) {
    Application app(comm.rank() % 2, Kind::legacy);
    float* data = app.device_memory();
    std::vector<float> content(kCount, 1.0F);
    EXPECT_EQ(cudaMemcpy(data, content.data(), kBytes, cudaMemcpyDefault), cudaSuccess);
    cudaStream_t mine = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&mine, cudaStreamNonBlocking), cudaSuccess);
    Work work = comm.allreduce(Buffer(data, kCount), {.stream = tutti::cuda::stream(mine)});
    EXPECT_EQ(cudaStreamDestroy(mine), cudaSuccess);
    work.wait();
    EXPECT_EQ(cudaMemcpy(content.data(), data, kBytes, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(content, std::vector<float>(kCount, 2.0F));
  };
  EXPECT_EQ("", describe(run_ranks(2, rank, native())));
}

TEST_F(CudaStreams, BuffersThatAreNotOfTheStreamAreRefused) {
  const Communicator comm = local_group(1)[0];
  Application app(0, Kind::created);
  const Stream stream = tutti::cuda::stream(app.stream());
  std::vector<float> ordinary(16);
  expect_words(refusal(comm, Buffer(ordinary), stream),
               {"allreduce(sum) of 16 float32", "input is memory that CUDA does not know", "ordinary host memory",
                "the stream on cuda:0"});
  float* data = app.device_memory(16);
  expect_words(refusal(comm, Buffer(data, 16, Memory{stream.device(), MemoryKind::shared}), stream),
               {"is device memory", "was given as shared memory"});
  void* freed = nullptr;
  ASSERT_EQ(cudaMalloc(&freed, 64), cudaSuccess);
  ASSERT_EQ(cudaFree(freed), cudaSuccess);
  expect_words(refusal(comm, Buffer(static_cast<float*>(freed), 16), stream), {"freed"});

  const Device other = Device::parse("cuda:1");
  const DeviceArray array(spi::device_runtime(other).stream(other), MemoryKind::device, 64);
  expect_words(refusal(comm, Buffer(static_cast<float*>(array.data()), 16), stream), {"device memory of cuda:1"});
  expect_words(refusal(comm, Buffer(static_cast<float*>(array.data()), 16, array.where()), stream),
               {"device memory of cuda:1", "together with a stream of cuda:0"});
}

// CUDA can locate memory by its pointer alone, so no stream is needed.
TEST_F(CudaStreams, MemoryOfTheApplicationIsTakenWithoutAStream) {
  const Communicator comm = local_group(1)[0];
  Application app(1, Kind::created);
  float* data = app.device_memory(16);
  const std::vector<float> content(16, 3.0F);
  ASSERT_EQ(cudaMemcpy(data, content.data(), 64, cudaMemcpyDefault), cudaSuccess);
  comm.allreduce(Buffer(data, 16, Memory{Device::parse("cuda:1"), MemoryKind::device}));
  std::vector<float> got(16);
  ASSERT_EQ(cudaMemcpy(got.data(), data, 64, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(got, content);
}

// After an abort, streams must not wait for the aborted operation any more.
TEST_F(CudaStreams, AStreamGoesOnAfterAnAbort) {
  const auto rank = [&](const Communicator& comm) {
    Application app(comm.rank(), Kind::created);
    float* data = app.device_memory(16);
    if (comm.rank() != 0) return;
    Work work = comm.allreduce(Buffer(data, 16), {.stream = tutti::cuda::stream(app.stream())});
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(work.ready()) << "rank 1 has not called the operation";
    comm.abort();
    EXPECT_THROW(work.wait(), Error);
    EXPECT_EQ(cudaStreamSynchronize(app.stream()), cudaSuccess);
    EXPECT_THROW(comm.allreduce(Buffer(data, 16), {.stream = tutti::cuda::stream(app.stream())}), Error);
  };
  EXPECT_EQ("", describe(run_ranks(2, rank, native())));
}

// An allocation may wait for all work of the device, including staged operations; so the thread that carries out the
// staging must not allocate.
TEST_F(CudaStreams, WhatIsStagedHasItsMemoryBeforeItsStreamWaitsForIt) {
  const auto rank = [&](const Communicator& comm) {
    Application app(comm.rank(), Kind::created);
    const Stream on = tutti::cuda::stream(app.stream());
    float* data = app.device_memory();
    float* received = app.device_memory();
    ASSERT_EQ(cudaMemsetAsync(data, 0, kBytes, app.stream()), cudaSuccess);
    comm.barrier();
    fake_cuda_let_allocations_wait(true);
    // Each operation needs more memory than the one before it, which may still be pending.
    static constexpr std::uint64_t kCounts[][2] = {{1, 1}, {1000, 1000}, {kCount / 2, kCount / 2}};
    for (const auto& counts : kCounts) {
      const std::size_t both = counts[0] + counts[1];
      comm.allreduce(Buffer(data, both), {.op = Reduction::max, .stream = on});
      comm.alltoallv(ConstBuffer(data, both), {counts}, Buffer(received, both), {counts}, {.stream = on});
    }
    comm.allreduce(Buffer(data, kCount), {.stream = on}).wait();
  };
  EXPECT_EQ("", describe(run_ranks(2, rank, native())));
  fake_cuda_let_allocations_wait(false);
}

/// Counts the pinned memory of staging.
class PinnedLedger final : public Observer {
 public:
  using Observer::on;
  void on(const Allocation& record) noexcept override {
    if (record.owner != "staging") return;
    const std::uint64_t now = held_ += record.bytes;
    for (std::uint64_t most = most_; most < now && !most_.compare_exchange_weak(most, now);) {
    }
  }
  void on(const Free& record) noexcept override {
    if (record.owner == "staging") held_ -= record.bytes;
  }
  [[nodiscard]] std::uint64_t held() const noexcept { return held_; }
  [[nodiscard]] std::uint64_t most() const noexcept { return most_; }

 private:
  std::atomic<std::uint64_t> held_ = 0;
  std::atomic<std::uint64_t> most_ = 0;
  ObserverHandle handle_ = add_observer(*this);  // last: removed before the records go
};

// A vector form is staged as a whole. Its memory is freed while later operations still block the stream, and freeing
// may have to wait for them.
TEST_F(CudaStreams, VeryLargeMemoryOfStagingIsGivenBack) {
  constexpr std::size_t kLong = 5'000'000;
  const PinnedLedger ledger;
  RankOptions options = native();
  options.communicator.config.set("TUTTI_NATIVE_DIRECT", "0");
  const auto rank = [&](const Communicator& comm) {
    Application app(comm.rank(), Kind::created);
    const Stream on = tutti::cuda::stream(app.stream());
    float* data = app.device_memory(kLong);
    float* all = app.device_memory(2 * kLong);
    ASSERT_EQ(cudaMemsetAsync(data, 0, kLong * sizeof(float), app.stream()), cudaSuccess);
    static constexpr std::uint64_t kCounts[] = {kLong, kLong};
    for (int round = 0; round < 3; ++round) {
      comm.allgatherv(ConstBuffer(data, kLong), Buffer(all, 2 * kLong), {kCounts}, {.stream = on});
      comm.allreduce(Buffer(data, 1000), {.stream = on});
    }
    comm.allreduce(Buffer(data, 1000), {.stream = on}).wait();
    comm.barrier();
    EXPECT_GE(ledger.most(), 3 * kLong * sizeof(float));
    EXPECT_LT(ledger.held(), std::uint64_t{1} << 20);
    comm.barrier();
  };
  EXPECT_EQ("", describe(run_ranks(2, rank, options)));
  EXPECT_EQ(ledger.held(), 0U);
}

TEST_F(CudaStreams, WhatAnOperationCausedIsReported) {
  const Communicator comm = local_group(1, {.config = Config().set("TUTTI_BACKEND", "native")})[0];
  Application app(0, Kind::created);
  constexpr std::size_t kPiece = std::size_t{4} << 20;
  constexpr std::size_t kElements = 5 * kPiece / sizeof(float) / 2;  // two pieces and a half
  float* data = app.device_memory(kElements);
  ASSERT_EQ(cudaMemsetAsync(data, 0, kElements * sizeof(float), app.stream()), cudaSuccess);
  OperationSums sums;
  comm.allreduce(Buffer(data, kElements), {.stream = tutti::cuda::stream(app.stream())}).wait();
  EXPECT_EQ(sums.take(), (std::map<std::string, std::uint64_t>{{"issued", 1},
                                                               {"completed", 1},
                                                               {"device->host", kElements * sizeof(float)},
                                                               {"host->device", kElements * sizeof(float)},
                                                               {"copy", 6},
                                                               {"pinned", 4 * kPiece}}));
}

}  // namespace
}  // namespace tutti::test
