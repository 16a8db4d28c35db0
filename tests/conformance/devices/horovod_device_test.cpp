// Named tensors in device memory, through the Horovod engine over TUTTI_TEST_BACKEND; ranks are threads with a device
// each.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "support/devices/device_environment.hpp"
#include "support/devices/device_support.hpp"
#include "support/rank_threads.hpp"
#include "tutti/horovod.hpp"

namespace tutti::horovod {
namespace {

#ifdef TUTTI_TEST_NCCL_LIBRARY
const int nccl_told = setenv("TUTTI_NCCL_LIBRARY", TUTTI_TEST_NCCL_LIBRARY, 1);  // NOLINT
#endif

using test::DeviceArray;

constexpr int kRanks = 2;

/// Whether the inner backend works on device memory.
constexpr bool kIsDirect = std::string_view(TUTTI_TEST_BACKEND) == "horovod:nccl";

/// The device, a stream and the memory of one rank.
class Place {
 public:
  explicit Place(int rank)
      : runtime_(spi::device_runtime(test::rank_devices(TUTTI_TEST_DEVICE)[static_cast<std::size_t>(rank)])),
        stream_(runtime_.make_stream(test::rank_devices(TUTTI_TEST_DEVICE)[static_cast<std::size_t>(rank)])) {}

  [[nodiscard]] const Stream& stream() const { return stream_->stream(); }
  [[nodiscard]] spi::DeviceRuntime& runtime() { return runtime_; }
  template <typename T>
  Buffer make(const std::vector<T>& values) {
    arrays_.push_back(std::make_unique<DeviceArray>(stream(), MemoryKind::device,
                                                    std::max<std::size_t>(values.size(), 1) * sizeof(T)));
    if (!values.empty()) arrays_.back()->write(values.data(), values.size() * sizeof(T));
    return {arrays_.back()->data(), values.size(), kDataTypeOf<T>, arrays_.back()->where()};
  }
  template <typename T>
  std::vector<T> read(const ConstBuffer& from) {
    std::vector<T> values(from.count);
    if (values.empty()) return values;
    const ConstBuffer bytes(from.data, from.bytes(), DataType::uint8, {stream().device(), MemoryKind::device});
    runtime_.copy(stream(), Buffer(values.data(), from.bytes(), DataType::uint8), bytes)->wait();
    return values;
  }
  template <typename T>
  std::vector<T> output(const Handle& handle) {
    const auto bytes = handle.output();
    return read<T>({bytes.data(), bytes.size() / sizeof(T), kDataTypeOf<T>});
  }

 private:
  spi::DeviceRuntime& runtime_;
  std::unique_ptr<spi::DeviceStream> stream_;
  std::vector<std::unique_ptr<DeviceArray>> arrays_;
};

void on_ranks(const std::function<void(const Engine&, Place&)>& body, const std::string& partition = "0") {
  test::RankOptions options{.communicator = {}, .deadline = std::chrono::minutes(4)};
  options.communicator.config.set("TUTTI_BACKEND", TUTTI_TEST_BACKEND);
  options.communicator.config.set("TUTTI_HOROVOD_PARTITION", partition);
  TUTTI_EXPECT_RANKS(
      kRanks,
      [&](const Communicator& comm) {
        Place place(comm.rank());
        body(Engine(comm), place);
      },
      options);
}

class HorovodDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = test::why_no_device(TUTTI_TEST_DEVICE); !reason.empty()) GTEST_SKIP() << reason;
    if (test::rank_devices(TUTTI_TEST_DEVICE).size() < kRanks) GTEST_SKIP() << "it needs two devices or sub-devices";
  }
};

void reduce_many(const Engine& engine, Place& place) {
  constexpr std::size_t kTensors = 10;
  std::vector<Buffer> inputs(kTensors);
  std::vector<Buffer> outputs(kTensors);
  for (std::size_t i = 0; i < kTensors; ++i) {
    const std::vector<float> values(1 + i * 53, static_cast<float>(engine.rank() + 1));
    inputs[i] = place.make(values);
    outputs[i] = i % 2 == 0 ? inputs[i] : place.make(std::vector<float>(values.size(), -1.0F));
  }
  for (int step = 0; step < 3; ++step) {
    std::vector<Handle> handles;
    for (std::size_t i = 0; i < kTensors; ++i) {
      if (step > 0 && i % 2 == 0) continue;  // in place: it has changed
      TensorOptions options{.op = i % 3 == 0 ? ReduceOp::average : ReduceOp::sum, .stream = place.stream()};
      if (i % 3 == 1) options.prescale = 2.0;
      if (i % 3 == 2) options.postscale = 0.5;
      if (i % 5 == 4) options.compression = Compression::bfloat16;
      handles.push_back(engine.allreduce("t" + std::to_string(i), inputs[i], outputs[i], options));
    }
    for (const Handle& handle : handles) handle.wait();
  }
  for (std::size_t i = 0; i < kTensors; ++i) {
    const float expected = i % 3 == 1 ? 6.0F : 1.5F;
    EXPECT_EQ(place.read<float>(outputs[i]), std::vector<float>(1 + i * 53, expected)) << i;
  }
}

TEST_F(HorovodDevice, FusesTensorsInItsMemory) {
  on_ranks(reduce_many);
  on_ranks(reduce_many, "500");
}

TEST_F(HorovodDevice, WaitsForTheStream) {
  on_ranks([](const Engine& engine, Place& place) {
    const Buffer data = place.make(std::vector<std::int32_t>(1000, -1));
    auto gate = place.runtime().hold(place.stream());
    (void)place.runtime().fill(place.stream(), Buffer(data.data, 4000, DataType::uint8, data.where), std::byte{1});
    const Handle handle = engine.allreduce("t", data, data, {.op = ReduceOp::sum, .stream = place.stream()});
    EXPECT_FALSE(handle.poll());
    gate->open();
    handle.wait();
    EXPECT_EQ(place.read<std::int32_t>(data), std::vector<std::int32_t>(1000, 2 * 0x01010101));
  });
}

TEST_F(HorovodDevice, TakesAllOperations) {
  on_ranks([](const Engine& engine, Place& place) {
    const int rank = engine.rank();
    TensorOptions options{.op = ReduceOp::sum, .stream = place.stream()};
    // Allgathers of different lengths, also of none, fused, with outputs of the engine and of the caller.
    const Buffer one = place.make(std::vector<float>(static_cast<std::size_t>(rank) * 3, 7.0F));
    const Buffer two = place.make(std::vector<float>(2, static_cast<float>(rank)));
    const Buffer out = place.make(std::vector<float>(4, -1.0F));
    const std::vector<GroupedTensor> group = {{.name = "g1", .in = one, .out = {}},
                                              {.name = "g2", .in = two, .out = out}};
    const auto gathered = engine.grouped_allgather(group, options);
    gathered[0].wait();
    gathered[1].wait();
    EXPECT_EQ(place.output<float>(gathered[0]), std::vector<float>(3, 7.0F));
    EXPECT_EQ(place.read<float>(out), (std::vector<float>{0, 0, 1, 1}));

    const Buffer root = place.make(std::vector<float>(5, static_cast<float>(rank)));
    engine.broadcast("b", root, root, 1, options).wait();
    EXPECT_EQ(place.read<float>(root), std::vector<float>(5, 1.0F));

    const Buffer to_send = place.make(std::vector<float>{10.0F + static_cast<float>(rank), 20, 30});
    const Handle exchanged = engine.alltoall("x", to_send, std::vector<std::int64_t>{1, 2}, {}, options);
    exchanged.wait();
    EXPECT_EQ(place.output<float>(exchanged),
              rank == 0 ? (std::vector<float>{10, 11}) : (std::vector<float>{20, 30, 20, 30}));

    std::vector<float> rows(5);
    std::iota(rows.begin(), rows.end(), 0.0F);
    const Buffer scattered = place.make(rows);
    const Handle part = engine.reducescatter("r", scattered, {}, options);
    part.wait();
    EXPECT_EQ(place.output<float>(part), rank == 0 ? (std::vector<float>{0, 2, 4}) : (std::vector<float>{6, 8}));

    options.op = ReduceOp::adasum;
    const Buffer gradient = place.make(std::vector<float>{rank == 0 ? 2.0F : 0.0F, rank == 0 ? 0.0F : 3.0F});
    engine.allreduce("a", gradient, gradient, options).wait();
    EXPECT_EQ(place.read<float>(gradient), (std::vector<float>{2, 3}));
  });
}

TEST_F(HorovodDevice, RanksThatHaveJoinedGiveZeros) {
  on_ranks([](const Engine& engine, Place& place) {
    for (int step = 0; step <= engine.rank(); ++step) {
      const Buffer data = place.make(std::vector<float>(50, 1.0F));
      engine.allreduce("t", data, data, {.op = ReduceOp::sum, .stream = place.stream()}).wait();
      EXPECT_EQ(place.read<float>(data), std::vector<float>(50, step == 0 ? 2.0F : 1.0F));
    }
    EXPECT_EQ(engine.join(), 1);
  });
}

TEST_F(HorovodDevice, RefusesMemoryThatItCannotUse) {
  on_ranks([](const Engine& engine, Place& place) {
    std::vector<float> host(4);
    const Buffer good = place.make(host);
    // Memory of the host where that of a device is said to be.
    EXPECT_THROW(
        (void)engine.allreduce("t", Buffer(host.data(), 4, DataType::float32, good.where), good, {.op = ReduceOp::sum}),
        Error);
    EXPECT_THROW((void)engine.allreduce("t", good, place.make(std::vector<float>(3)), {.stream = place.stream()}),
                 Error);
    // The engine goes on, without a stream as well.
    engine.allreduce("t", good, good, {.op = ReduceOp::sum}).wait();
    EXPECT_EQ(place.read<float>(good), std::vector<float>(4, 0.0F));
  });
}

/// Whether a tensor on the device and one on the host disagree: they do where the inner backend works.
TEST_F(HorovodDevice, ComparesTheDevicesOfTheRanks) {
  on_ranks([](const Engine& engine, Place& place) {
    std::vector<float> host(4, 1.0F);
    const Buffer data = engine.rank() == 0 ? Buffer(host) : place.make(host);
    const Stream stream = engine.rank() == 0 ? Stream() : place.stream();
    const Handle handle = engine.allreduce("t", data, data, {.op = ReduceOp::sum, .stream = stream});
    std::string text;
    try {
      handle.wait();
    } catch (const Error& error) {
      text = error.what();
    }
    if (kIsDirect) {
      EXPECT_NE(text.find("Mismatched ALLREDUCE CPU/GPU device selection: One rank specified device CPU, but another "
                          "rank specified device GPU."),
                std::string::npos)
          << text;
      return;
    }
    EXPECT_EQ(text, "");
    const std::vector<float> expected(4, 2.0F);
    EXPECT_EQ(engine.rank() == 0 ? host : place.read<float>(data), expected);
  });
}

}  // namespace
}  // namespace tutti::horovod
