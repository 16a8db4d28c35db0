// The CUDA module on the fake CUDA. This program links to the fake as an application links to the real CUDA.
#include <algorithm>
#include <thread>
#include <tutti/cuda.hpp>

#include "fakes/cudart/fake_cuda_test_base.hpp"
#include "support/devices/device_support.hpp"
#include "support/observers/device_ledger.hpp"
#include "support/refusals.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBytes = 1 << 16;

class CudaDevice : public FakeCudaTest, protected OnFirstDevice {
 protected:
  void SetUp() override {
    FakeCudaTest::SetUp();
    const std::string reason = why_no_device("cuda");
    ASSERT_EQ(reason, "") << "the fake CUDA must always be usable";
    use_first_device("cuda");
  }
};

TEST_F(CudaDevice, DevicesAreDescribed) {
  const std::vector<DeviceInfo> all = runtime_->devices();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(devices_.size(), 2u);
  for (const DeviceInfo& info : all) {
    EXPECT_EQ(Device::parse(info.device.name()), info.device);
    EXPECT_TRUE(info.is_fake);
    EXPECT_TRUE(info.is_gpu);
    EXPECT_EQ(info.sub_devices, 0);
    EXPECT_EQ(info.compute_units, 4u);
    EXPECT_EQ(info.memory_bytes, std::uint64_t{4} << 30);
    EXPECT_LE(info.free_bytes, info.memory_bytes);
    EXPECT_GT(info.free_bytes, 0u);
    EXPECT_EQ(info.driver, "fake 13000, CUDA 13.0");
  }
  EXPECT_EQ(all[1].name, "fake GPU 1");
  EXPECT_EQ(all[1].address, "0000:1a:00.0");
  EXPECT_EQ(tutti::cuda::device(all[1].device), 1);
}

TEST_F(CudaDevice, DevicesThatAreNotThereAreNamed) {
  const std::uint16_t module = devices_[0].module();
  expect_words(error_of([&] { (void)runtime_->make_stream(Device(module, 7)); }, ErrorCode::config),
               {"'cuda:7'", "2 CUDA devices"});
  expect_words(error_of([&] { (void)runtime_->make_stream(Device(module, 0, 1)); }, ErrorCode::config),
               {"'cuda:0.1'", "no sub-devices"});
  expect_words(error_of([&] { (void)Device::parse("cuda:2"); }, ErrorCode::config), {"'cuda:2'"});
}

TEST_F(CudaDevice, PointersAreRecognised) {
  for (const MemoryKind kind : {MemoryKind::host, MemoryKind::device, MemoryKind::shared}) {
    const DeviceArray array(stream_, kind, 4096);
    const spi::PointerInfo inside = runtime_->locate(stream_, static_cast<std::byte*>(array.data()) + 100);
    ASSERT_TRUE(inside.where.has_value()) << name(kind) << ": " << inside.found;
    EXPECT_EQ(*inside.where, (Memory{devices_[0], kind}));
  }
  std::vector<char> ordinary(4096);
  expect_words(runtime_->locate(stream_, ordinary.data()).found, {"ordinary host memory"});
  ASSERT_EQ(cudaHostRegister(ordinary.data(), ordinary.size(), 0), cudaSuccess);
  EXPECT_EQ(runtime_->locate(stream_, ordinary.data()).where, (Memory{devices_[0], MemoryKind::host}));
  ASSERT_EQ(cudaHostUnregister(ordinary.data()), cudaSuccess);
}

TEST_F(CudaDevice, MemoryOfAnotherDeviceAndFreedMemoryAreRefused) {
  const Stream& other = runtime_->stream(devices_[1]);
  void* freed = nullptr;
  {
    const DeviceArray array(other, MemoryKind::device, 4096);
    freed = array.data();
    const spi::PointerInfo found = runtime_->locate(stream_, array.data());
    EXPECT_FALSE(found.where.has_value());
    EXPECT_EQ(found.found, "device memory of cuda:1");
    EXPECT_TRUE(runtime_->locate(other, freed).where.has_value());
    // Pinned memory belongs to no device.
    const DeviceArray pinned(other, MemoryKind::host, 4096);
    EXPECT_TRUE(runtime_->locate(stream_, pinned.data()).where.has_value());
  }
  EXPECT_FALSE(runtime_->locate(other, freed).where.has_value());
  expect_words(runtime_->locate(other, freed).found, {"freed"});
}

TEST_F(CudaDevice, MemoryThatIsNotThereIsAnError) {
  const std::string message = error_of(
      [&] { (void)runtime_->allocate(stream_, MemoryKind::device, std::size_t{5} << 30, "test"); }, ErrorCode::system);
  expect_words(message, {"cuda:0 has no 5368709120 bytes of device memory left", "out of memory"});
  EXPECT_EQ(runtime_->allocate(stream_, MemoryKind::device, 0, "test"), nullptr);
}

TEST_F(CudaDevice, ManyGatesAreOpenedInAnyOrder) {
  constexpr std::size_t kGates = 6;
  const DeviceArray array(stream_, MemoryKind::device, 64);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<spi::DeviceStream>> streams;
    std::vector<std::unique_ptr<spi::DeviceGate>> gates;
    std::vector<std::unique_ptr<spi::DeviceEvent>> ends;
    for (std::size_t i = 0; i < kGates; ++i) {
      streams.push_back(runtime_->make_stream(devices_[i % 2]));
      // Two gates in a row on each stream.
      gates.push_back(runtime_->hold(streams[i]->stream()));
      gates.push_back(runtime_->hold(streams[i]->stream()));
      ends.push_back(runtime_->record(streams[i]->stream()));
    }
    for (std::size_t i = 0; i < kGates; ++i) EXPECT_FALSE(ends[i]->ready());
    // Opens the last gate first; half of the gates are opened by their destructor.
    for (std::size_t i = gates.size(); i-- > 0;) {
      if (i % 2 == 0) gates[i]->open();
      gates[i].reset();
    }
    for (const auto& end : ends) end->wait();
  }
}

// Only the stream waits at the gate; host functions that the application has enqueued elsewhere must still run.
TEST_F(CudaDevice, AGateDoesNotHoldHostFunctionsOfTheApplication) {
  if (std::getenv("FAKE_CUDA_STREAM_MEMORY_OPERATIONS") != nullptr) {
    GTEST_SKIP() << "without stream memory operations, the gate blocks the driver's only thread for host functions";
  }
  const auto held = runtime_->make_stream(stream_);
  const auto gate = runtime_->hold(held->stream());
  std::this_thread::sleep_for(5ms);
  std::atomic<bool> has_run = false;
  cudaStream_t mine = nullptr;
  ASSERT_EQ(cudaStreamCreate(&mine), cudaSuccess);
  ASSERT_EQ(cudaLaunchHostFunc(
                mine, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &has_run),
            cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(mine), cudaSuccess);
  EXPECT_TRUE(has_run);
  ASSERT_EQ(cudaStreamDestroy(mine), cudaSuccess);
}

// cudaFree() waits for all streams, but the thread that frees memory may be the one that opens the gate later.
TEST_F(CudaDevice, GivingMemoryBackDoesNotWaitForAGate) {
  auto gate = runtime_->hold(runtime_->stream(devices_[0]));
  for (const MemoryKind kind : {MemoryKind::host, MemoryKind::device, MemoryKind::shared}) {
    const DeviceArray array(stream_, kind, kBytes);
  }
  gate.reset();
  const std::uint64_t before = runtime_->devices()[0].free_bytes;
  { const DeviceArray array(stream_, MemoryKind::device, kBytes); }
  EXPECT_EQ(runtime_->devices()[0].free_bytes, before + kBytes)
      << "memory that was released while the gate was closed must be free now";
}

TEST_F(CudaDevice, TheDeviceOfTheThreadStays) {
  for (const int mine : {0, 1}) {
    ASSERT_EQ(cudaSetDevice(mine), cudaSuccess);
    for (const Device device : devices_) {
      const Stream& stream = runtime_->stream(device);
      const DeviceArray array(stream, MemoryKind::device, 64);
      runtime_->fill(stream, array.bytes(), std::byte{1})->wait();
      (void)runtime_->locate(stream, array.data());
      runtime_->hold(stream)->open();
      int now = -1;
      ASSERT_EQ(cudaGetDevice(&now), cudaSuccess);
      EXPECT_EQ(now, mine);
    }
  }
}

TEST_F(CudaDevice, StreamsOfTheApplicationAreRecognised) {
  for (const int index : {0, 1}) {
    ASSERT_EQ(cudaSetDevice(index), cudaSuccess);
    cudaStream_t mine = nullptr;
    ASSERT_EQ(cudaStreamCreate(&mine), cudaSuccess);
    ASSERT_EQ(cudaSetDevice(1 - index), cudaSuccess);
    EXPECT_EQ(tutti::cuda::stream(mine).device(), devices_[static_cast<std::size_t>(index)]);
    EXPECT_EQ(tutti::cuda::stream(mine).native(), mine);
    ASSERT_EQ(cudaSetDevice(index), cudaSuccess);
    for (cudaStream_t handle : {cudaStream_t{nullptr}, cudaStreamLegacy, cudaStreamPerThread}) {
      const Stream stream = tutti::cuda::stream(handle);
      EXPECT_EQ(stream.device(), devices_[static_cast<std::size_t>(index)]);
      EXPECT_FALSE(stream.is_host());
    }
    ASSERT_EQ(cudaStreamDestroy(mine), cudaSuccess);
  }
}

// A Stream of the null stream keeps the device that was current when it was created.
TEST_F(CudaDevice, TheNullStreamKeepsItsDevice) {
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  const Stream null_stream = tutti::cuda::stream(nullptr);
  cudaStream_t blocking = nullptr;
  ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  auto gate = runtime_->hold(null_stream);
  // A blocking stream of the application on device 1 waits for the null stream of device 1.
  ASSERT_EQ(fake_cuda_launch(
                blocking, [](void*) {}, nullptr),
            cudaSuccess);
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(cudaStreamQuery(blocking), cudaErrorNotReady);
  (void)cudaGetLastError();
  gate->open();
  ASSERT_EQ(cudaStreamSynchronize(blocking), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(blocking), cudaSuccess);
}

TEST_F(CudaDevice, ACapturedStreamIsRefused) {
  cudaStream_t mine = nullptr;
  ASSERT_EQ(cudaStreamCreate(&mine), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(mine, cudaStreamCaptureModeGlobal), cudaSuccess);
  const Stream stream = tutti::cuda::stream(mine);
  expect_words(error_of([&] { (void)runtime_->record(stream); }, ErrorCode::unsupported), {"captured", "cuda:0"});
  (void)error_of([&] { (void)runtime_->hold(stream); }, ErrorCode::unsupported);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(mine, &graph), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(mine), cudaSuccess);
}

TEST_F(CudaDevice, WhatFailsOnTheDeviceIsAnErrorWithItsReason) {
  const auto stream = runtime_->make_stream(stream_);
  const DeviceArray array(runtime_->stream(devices_[1]), MemoryKind::device, 4096);
  const std::string message = error_of([&] { (void)runtime_->fill(stream->stream(), array.bytes(), std::byte{1}); },
                                       ErrorCode::backend_failure);
  expect_words(message, {"cudaMemsetAsync", "an illegal memory access was encountered", "700"});
  expect_words(take_cuda_violations(), {"without peer access"});
  fake_cuda_repair();
}

// A pending event is not reused, because two uses would write to one timestamp.
TEST_F(CudaDevice, EventsComeBackWhenTheyAreReached) {
  const auto destroyed_by_a_fill = [&](bool is_waited_for) {
    const auto stream = runtime_->make_stream(stream_);
    const DeviceArray array(stream->stream(), MemoryKind::device, 64);
    auto gate = runtime_->hold(stream->stream());
    DeviceLedger ledger;
    auto fill = runtime_->fill(stream->stream(), array.bytes(), std::byte{0});
    if (is_waited_for) {
      gate.reset();
      fill->wait();
    }
    (void)ledger.take();
    fill.reset();
    return std::ranges::count(ledger.take(), "call cudaEventDestroy");
  };
  EXPECT_EQ(destroyed_by_a_fill(true), 0);
  EXPECT_EQ(destroyed_by_a_fill(false), 2);
}

TEST_F(CudaDevice, ReductionsAreRefusedWithTheReason) {
  const DeviceArray array(stream_, MemoryKind::device, 64);
  void* const output = array.data();
  const void* const input = array.data();
  const auto reduce = [&] {
    (void)runtime_->reduce(stream_, {.count = 1, .outputs = {&output, 1}, .inputs = {&input, 1}});
  };
  expect_words(error_of(reduce, ErrorCode::unsupported), {"no kernels", "cuda:0"});
}

/// Removes the lines that depend on earlier work and on time: the pool creates events when it is empty, and the runtime
/// reads the device's clock again, with events that it waits for immediately, when the last reading is old.
std::vector<std::string> without_upkeep(const std::vector<std::string>& lines) {
  std::vector<std::string> kept;
  for (const std::string& line : lines) {
    if (line == "call cudaEventCreateWithFlags") continue;
    if (line == "call cudaEventSynchronize" && !kept.empty() && kept.back() == "call cudaEventRecord")
      kept.pop_back();
    else
      kept.push_back(line);
  }
  return kept;
}

TEST_F(CudaDevice, EverythingIsReportedOnce) {
  {  // The first use of the device creates a stream for its clock.
    const DeviceArray array(stream_, MemoryKind::device, 64);
    runtime_->fill(stream_, array.bytes(), std::byte{0})->wait();
  }
  DeviceLedger ledger;
  {
    const DeviceArray array(stream_, MemoryKind::device, 4096);
    const DeviceArray pinned(stream_, MemoryKind::host, 4096);
    EXPECT_EQ(ledger.take(),
              (std::vector<std::string>{"call cuCtxGetCurrent", "call cudaMalloc", "allocate device 4096",
                                        "call cuCtxGetCurrent", "call cudaHostAlloc", "allocate host 4096"}));
    auto fill = runtime_->fill(stream_, array.bytes(), std::byte{1});
    auto copy = runtime_->copy(stream_, pinned.bytes(), array.bytes());
    copy->wait();
    copy->wait();
    EXPECT_TRUE(fill->ready());
    EXPECT_EQ(without_upkeep(ledger.take()),
              (std::vector<std::string>{"move device->device 4096",  "call cuCtxGetCurrent",
                                        "call cudaEventRecord",      "call cudaMemsetAsync",
                                        "call cudaEventRecord",      "move device->host 4096",
                                        "call cuCtxGetCurrent",      "call cudaEventRecord",
                                        "call cudaMemcpyAsync",      "call cudaEventRecord",
                                        "call cuCtxGetCurrent",      "call cudaEventSynchronize",
                                        "call cuCtxGetCurrent",      "call cudaEventElapsedTime",
                                        "call cudaEventElapsedTime", "cuda:0 copy",
                                        "call cuCtxGetCurrent",      "call cudaEventSynchronize",
                                        "call cuCtxGetCurrent",      "call cudaEventQuery",
                                        "call cuCtxGetCurrent",      "call cudaEventElapsedTime",
                                        "call cudaEventElapsedTime", "cuda:0 fill"}));
  }
  EXPECT_EQ(ledger.take(), (std::vector<std::string>{"free host 4096", "call cuCtxGetCurrent", "call cudaFreeHost",
                                                     "free device 4096", "call cuCtxGetCurrent", "call cudaFree"}));
}

}  // namespace
}  // namespace tutti::test
