// NCCL on streams of the application, on the fakes of CUDA and NCCL: the order of the work, the waits of the host, and
// the records of an observer. Ranks are threads with a GPU each.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <tutti/cuda.hpp>
#include <tutti/tutti.hpp>

#include "conformance/auto_support.hpp"
#include "fakes/cudart/fake_cuda_test_base.hpp"
#include "support/observers/recording_observer.hpp"
#include "support/rank_threads.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

// Selects the fakes, even if the machine has the real libraries.
const int cuda_chosen = setenv("TUTTI_CUDA_LIBRARY", TUTTI_TEST_CUDA_LIBRARY, 1);  // NOLINT
const int nccl_chosen = setenv("TUTTI_NCCL_LIBRARY", TUTTI_TEST_NCCL_LIBRARY, 1);  // NOLINT

constexpr int kRanks = 2;
constexpr std::size_t kCount = 100'003;

/// Code of an application on one device: a stream, memory, and a kernel on integers.
class Application {
 public:
  explicit Application(int device) {
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  ~Application() {
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    for (void* pointer : memory_) EXPECT_EQ(cudaFree(pointer), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
  }
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  [[nodiscard]] cudaStream_t native() const { return stream_; }
  [[nodiscard]] Stream stream() const { return cuda::stream(stream_); }
  [[nodiscard]] Buffer memory() {
    EXPECT_EQ(cudaMalloc(&memory_.emplace_back(), kCount * sizeof(std::int32_t)), cudaSuccess);
    return {static_cast<std::int32_t*>(memory_.back()), kCount};
  }

  /// Enqueues data[i] = data[i] * factor + i * step + constant.
  void kernel(const Buffer& data, std::int32_t factor, std::int32_t step, std::int32_t constant) {
    struct Arguments {
      cudaStream_t stream;
      void* data;
      std::int32_t factor;
      std::int32_t step;
      std::int32_t constant;
    };
    const auto body = [](void* argument) {
      const std::unique_ptr<Arguments> mine(static_cast<Arguments*>(argument));
      auto* values =
          static_cast<std::int32_t*>(fake_cuda_access(mine->stream, mine->data, kCount * sizeof(std::int32_t)));
      for (std::size_t i = 0; i < kCount; ++i) {
        values[i] = values[i] * mine->factor + static_cast<std::int32_t>(i) * mine->step + mine->constant;
      }
    };
    EXPECT_EQ(fake_cuda_launch(stream_, body, new Arguments{stream_, data.data, factor, step, constant}), cudaSuccess);
  }
  /// Blocking. Number of elements that are not i * step + constant.
  [[nodiscard]] std::size_t count_wrong(const Buffer& data, std::int32_t step, std::int32_t constant) const {
    std::vector<std::int32_t> values(kCount);
    EXPECT_EQ(cudaMemcpyAsync(values.data(), data.data, data.bytes(), cudaMemcpyDeviceToHost, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      wrong += values[i] != static_cast<std::int32_t>(i) * step + constant ? 1 : 0;
    }
    return wrong;
  }

 private:
  cudaStream_t stream_ = nullptr;
  std::vector<void*> memory_;
};

class NcclStreams : public FakeCudaTest {
 protected:
  static void on_ranks(const std::function<void(const Communicator&)>& body) {
    const RankOptions options{.communicator = {.config = Config().set("TUTTI_BACKEND", "nccl")}};
    EXPECT_EQ("", describe(run_ranks(kRanks, body, options)));
  }
};

TEST_F(NcclStreams, WhatTheBackendBuildsIsSaidToBeEmulatedAndRefusedInStrictMode) {
  const auto expect_said = [](const Communicator& comm) {
    for (const OpTraits& row : kOpTraits) {
      const bool is_of_nccl = (row.reduces && !is_vector(row.kind)) || row.kind == OpKind::allgather ||
                              row.kind == OpKind::broadcast || is_message(row.kind);
      EXPECT_EQ(comm.explain(row.kind, DataType::int32).emulated, !is_of_nccl) << row.name;
    }
  };
  RecordingObserver recorder;
  on_ranks([&](const Communicator& comm) {
    expect_said(comm);
    const std::vector<std::int32_t> mine(1, comm.rank());
    std::vector<std::int32_t> all(kRanks, -1);
    comm.gather(mine, all, 0);
    if (comm.rank() == 0) {
      EXPECT_EQ(all, (std::vector<std::int32_t>{0, 1}));
    }
  });
  const auto issued = recorder.issued();
  EXPECT_EQ(std::ranges::count_if(issued, [](const auto& row) { return row.emulated; }), kRanks);
  Config strict;
  strict.set("TUTTI_BACKEND", "nccl").set("TUTTI_STRICT", "1");
  const auto errors = run_ranks(
      kRanks,
      [](const Communicator& comm) {
        std::vector<std::int32_t> data(kRanks, 1);
        comm.allreduce(data);
        EXPECT_EQ(data[0], kRanks);
        try {
          std::vector<std::int32_t> output(kRanks);
          comm.alltoall(data, output);
          ADD_FAILURE() << "alltoall was emulated in strict mode";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
          EXPECT_NE(std::string_view(error.what()).find("TUTTI_STRICT"), std::string_view::npos) << error.what();
        }
      },
      {.communicator = {.config = strict}});
  EXPECT_EQ("", describe(errors));
}

// The first kernel cannot begin before every rank has enqueued everything.
TEST_F(NcclStreams, OperationsTakeTheirPlaceAndTheHostGoesOn) {
  std::vector<std::unique_ptr<Holder>> holders(kRanks);
  std::atomic<int> enqueued = 0;
  on_ranks([&](const Communicator& comm) {
    Application app(comm.rank());
    const Buffer in = app.memory();
    const Buffer out = app.memory();
    auto& holder = holders[static_cast<std::size_t>(comm.rank())];
    holder = std::make_unique<Holder>(app.native());
    app.kernel(in, 0, 1, comm.rank());
    Work first = comm.allreduce(in, out, {.stream = app.stream()});
    app.kernel(out, 10, 0, 0);
    // An operation in place, whose Work is dropped. Emulation or staging could not run it without the host.
    comm.allreduce(out, {.op = Reduction::max, .stream = app.stream()});
    app.kernel(out, 1, 0, 7);
    EXPECT_FALSE(holder->is_open) << "the calls must return before the input is written";
    EXPECT_FALSE(first.ready());
    if (++enqueued == kRanks) {
      for (auto& each : holders) each->is_open = true;
    }
    EXPECT_EQ(app.count_wrong(out, 20, 17), 0u);
    EXPECT_TRUE(first.ready());
    first.wait();
  });
}

TEST_F(NcclStreams, KeepTheOrderOfTheCallsOnOneCommunicator) {
  on_ranks([](const Communicator& comm) {
    Application one(comm.rank());
    Application two(comm.rank());
    const Buffer data = one.memory();
    // Each operation needs the result of the previous one on another stream; only the communicator orders them.
    one.kernel(data, 0, 1, 1);
    comm.allreduce(data, {.stream = one.stream()});
    comm.allreduce(data, {.stream = two.stream()});
    comm.allreduce(data, {.stream = one.stream()});
    EXPECT_EQ(one.count_wrong(data, 8, 8), 0u);
  });
}

/// A table by which auto carries out allreduces of integers in device memory by two operations of NCCL.
TuningTable composed_on_nccl(Composition composition) {
  TuningRow row{.op = OpKind::allreduce,
                .on_device = true,
                .types = TypeClass::integer,
                .ranks_from = kRanks,
                .ranks_to = kRanks,
                .from = 0,
                .to = kNoLimit,
                .backends = {}};
  row.backends = {{"nccl", {{4, 1}}, composition}};
  return table_of({std::move(row)});
}

class ComposedStreams : public NcclStreams, public testing::WithParamInterface<Composition> {};

// All parts of an operation take their place on the stream before its call returns.
TEST_P(ComposedStreams, PartsTakeTheirPlaceAndTheHostGoesOn) {
  const TemporaryFolder folder;
  Config config = with_pins("");
  config.set("TUTTI_TUNING", folder.add("tuning", to_text(composed_on_nccl(GetParam()))));
  const RecordingObserver observer;
  std::vector<std::unique_ptr<Holder>> holders(kRanks);
  std::atomic<int> enqueued = 0;
  const auto body = [&](const Communicator& comm) {
    Application app(comm.rank());
    const Buffer data = app.memory();
    const Buffer out = app.memory();
    app.kernel(data, 0, 1, comm.rank());
    comm.allreduce(data, {.stream = app.stream()});  // creates NCCL's communicator
    EXPECT_EQ(app.count_wrong(data, 2, 1), 0u);
    auto& holder = holders[static_cast<std::size_t>(comm.rank())];
    holder = std::make_unique<Holder>(app.native());
    app.kernel(data, 0, 1, comm.rank());
    Work first = comm.allreduce(data, out, {.stream = app.stream()});
    app.kernel(out, 10, 0, 0);
    comm.allreduce(out, {.op = Reduction::max, .stream = app.stream()});
    app.kernel(out, 1, 0, 7);
    EXPECT_FALSE(holder->is_open) << "the calls must return before the input is written";
    EXPECT_FALSE(first.ready());
    if (++enqueued == kRanks) {
      for (auto& each : holders) each->is_open = true;
    }
    EXPECT_EQ(app.count_wrong(out, 20, 17), 0u);
    first.wait();
  };
  EXPECT_EQ("", describe(run_ranks(kRanks, body, {.communicator = {.config = config}})));
  const auto calls = observer.calls();
  const auto count = [&](std::string_view function) {
    return std::ranges::count_if(calls, [&](const auto& call) { return call.function == function; });
  };
  const bool halves = GetParam() == Composition::halves;
  EXPECT_EQ(count("ncclAllReduce"), halves ? 2 * 3 * kRanks : 0);
  EXPECT_EQ(count("ncclReduce"), halves ? 0 : 3 * kRanks);
  EXPECT_EQ(count("ncclBroadcast"), halves ? 0 : 3 * kRanks);
}

INSTANTIATE_TEST_SUITE_P(Compositions, ComposedStreams,
                         testing::Values(Composition::reduce_broadcast, Composition::halves));

TEST_F(NcclStreams, AGroupIsOneOfNccls) {
  on_ranks([](const Communicator& comm) {
    Application app(comm.rank());
    const Buffer out = app.memory();
    const Buffer in = app.memory();
    const Buffer sum = app.memory();
    app.kernel(out, 0, 1, comm.rank());
    app.kernel(sum, 0, 0, 1 + comm.rank());
    const int peer = 1 - comm.rank();
    comm.group([&] {
      comm.recv(in, peer, {.stream = app.stream()});
      comm.send(out, peer, {.stream = app.stream()});
      comm.allreduce(sum, {.stream = app.stream()});
    });
    EXPECT_EQ(app.count_wrong(in, 1, peer), 0u);
    EXPECT_EQ(app.count_wrong(sum, 0, 3), 0u);
  });
}

TEST_F(NcclStreams, EveryCallIsSeenWithItsCause) {
  // One rank, because all ranks of the process share the observer.
  const auto body = [](const Communicator& comm) {
    Application app(0);
    const Buffer data = app.memory();
    app.kernel(data, 0, 0, 1);
    comm.allreduce(data, {.stream = app.stream()}).wait();  // the first operation connects the ranks
    const RecordingObserver observer;
    comm.allreduce(data, {.stream = app.stream()}).wait();
    comm.alltoall(data, app.memory(), {.stream = app.stream()}).wait();
    std::vector<std::string> names;
    for (const RecordingObserver::Call& call : observer.calls()) {
      // The number of these calls depends on time.
      if (call.library != "NCCL" || call.function == "ncclCommGetAsyncError") continue;
      names.push_back(call.function);
      EXPECT_EQ(call.error, 0);
      EXPECT_EQ(call.cause, observer.issued()[names.size() == 1 ? 0 : 1].id) << call.function;
    }
    EXPECT_EQ(names,
              (std::vector<std::string>{"ncclAllReduce", "ncclGroupStart", "ncclSend", "ncclRecv", "ncclGroupEnd"}));
    EXPECT_EQ(observer.completed().size(), 2u);
    ASSERT_EQ(observer.intervals().size(), 2u) << "expected the device time of each operation";
    EXPECT_EQ(observer.intervals()[0].name, "allreduce");
    EXPECT_EQ(observer.intervals()[0].cause, observer.issued()[0].id);
    EXPECT_EQ(observer.intervals()[1].name, "alltoall");
    EXPECT_GT(observer.intervals()[0].end_ns, observer.intervals()[0].begin_ns);
    EXPECT_TRUE(observer.allocations().empty()) << "device memory must be used directly";
    EXPECT_EQ(app.count_wrong(data, 0, 1), 0u);
  };
  const RankOptions options{.communicator = {.config = Config().set("TUTTI_BACKEND", "nccl")}};
  EXPECT_EQ("", describe(run_ranks(1, body, options)));
}

/// For each operation, in order of the calls: the error codes of its OpCompleted records.
std::vector<std::vector<ErrorCode>> ends(const RecordingObserver& observer) {
  std::vector<std::vector<ErrorCode>> result;
  for (const RecordingObserver::Issued& issued : observer.issued()) {
    result.emplace_back();
    for (const RecordingObserver::Completed& completed : observer.completed()) {
      if (completed.id == issued.id) result.back().push_back(completed.error);
    }
  }
  return result;
}

Communicator alone() { return local_group(1, {.config = Config().set("TUTTI_BACKEND", "nccl")})[0]; }

TEST_F(NcclStreams, TheEndOfWhatNobodyWaitsForIsReportedOnce) {
  const std::vector<ErrorCode> well = {ErrorCode::ok};
  const RecordingObserver observer;
  Application app(0);
  {
    const Communicator comm = alone();
    const Buffer data = app.memory();
    app.kernel(data, 0, 0, 1);
    Holder holder(app.native());
    for (int i = 0; i < 3; ++i) comm.allreduce(data, {.stream = app.stream()});
    EXPECT_EQ(ends(observer), (std::vector<std::vector<ErrorCode>>(3)))
        << "the stream has not reached the first operation";
    holder.is_open = true;
    EXPECT_EQ(cudaStreamSynchronize(app.native()), cudaSuccess);
    comm.allreduce(data, {.stream = app.stream()});
    EXPECT_EQ(std::vector(ends(observer)).front(), well) << "the next call must report the end of the first operation";
  }
  EXPECT_EQ(ends(observer), std::vector(4, well))
      << "the destructor of the communicator must report the end of the last operation";
  EXPECT_EQ(observer.intervals().size(), 4u) << "expected the device time of each operation";
}

TEST_F(NcclStreams, WhatNobodyWaitsForAndAnAbortEndsIsReportedToo) {
  const RecordingObserver observer;
  Application app(0);
  Holder holder(app.native());
  {
    const Communicator comm = alone();
    comm.allreduce(app.memory(), {.stream = app.stream()});
    comm.abort();
    holder.is_open = true;
  }
  EXPECT_EQ(ends(observer), (std::vector<std::vector<ErrorCode>>{{ErrorCode::aborted}}));
}

}  // namespace
}  // namespace tutti::test
