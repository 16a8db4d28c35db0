// Tests the fake CUDA: it must be as strict as a real device, or the tests that use it prove nothing.
#include "fakes/cudart/fake_cuda_test_base.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBytes = 1 << 16;

class FakeCuda : public FakeCudaTest {
 protected:
  void TearDown() override {
    (void)cudaGetLastError();  // the tests provoke errors
    FakeCudaTest::TearDown();
  }
  static void* device_memory(std::size_t bytes = kBytes) {
    void* pointer = nullptr;
    EXPECT_EQ(cudaMalloc(&pointer, bytes), cudaSuccess);
    return pointer;
  }
  static void* pinned_memory(std::size_t bytes = kBytes) {
    void* pointer = nullptr;
    EXPECT_EQ(cudaMallocHost(&pointer, bytes), cudaSuccess);
    return pointer;
  }
  static cudaStream_t stream(unsigned flags = cudaStreamNonBlocking) {
    cudaStream_t result = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&result, flags), cudaSuccess);
    return result;
  }
  static void expect_violation(const std::string& word) {
    const std::string all = take_cuda_violations();
    EXPECT_NE(all.find(word), std::string::npos) << word << " is not in: " << all;
  }
};

TEST_F(FakeCuda, NamesItselfAFake) {
  cudaDeviceProp properties;
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
  EXPECT_STREQ(properties.name, "fake GPU 1");
  EXPECT_EQ(cudaGetDeviceProperties(&properties, 2), cudaErrorInvalidDevice);
}

TEST_F(FakeCuda, TheHostCannotTouchDeviceMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        void* pointer = nullptr;
        (void)cudaMalloc(&pointer, kBytes);
        *static_cast<volatile char*>(pointer) = 1;
      },
      testing::KilledBySignal(SIGSEGV), "");
}

TEST_F(FakeCuda, AProcessThatDidWrongFails) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        int local = 0;
        (void)cudaFree(&local);
        std::exit(0);
      },
      testing::ExitedWithCode(86), "violation: cudaFree of 0x[0-9a-f]+, which is not from cudaMalloc");
}

TEST_F(FakeCuda, WorkRunsLaterAndInOrder) {
  void* memory = device_memory();
  auto* result = static_cast<unsigned char*>(pinned_memory());
  result[0] = 0;
  cudaStream_t on = stream();
  Holder holder(on);
  ASSERT_EQ(cudaMemsetAsync(memory, 7, kBytes, on), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(result, memory, kBytes, cudaMemcpyDeviceToHost, on), cudaSuccess);
  EXPECT_EQ(cudaStreamQuery(on), cudaErrorNotReady);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(result[0], 0) << "the copy ran although the stream is blocked";
  holder.is_open = true;
  ASSERT_EQ(cudaStreamSynchronize(on), cudaSuccess);
  EXPECT_EQ(result[kBytes - 1], 7);
  ASSERT_EQ(cudaStreamDestroy(on), cudaSuccess);
  ASSERT_EQ(cudaFree(memory), cudaSuccess);
  ASSERT_EQ(cudaFreeHost(result), cudaSuccess);
}

TEST_F(FakeCuda, TheDefaultStreamWaitsForBlockingStreamsOnly) {
  for (const unsigned flags : {cudaStreamDefault, cudaStreamNonBlocking}) {
    cudaStream_t other = stream(flags);
    Holder holder(other);
    std::atomic<bool> is_done = false;
    ASSERT_EQ(fake_cuda_launch(
                  nullptr, [](void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }, &is_done),
              cudaSuccess);
    if (flags == cudaStreamNonBlocking) {
      while (!is_done) std::this_thread::sleep_for(1ms);
    } else {
      std::this_thread::sleep_for(20ms);
      EXPECT_FALSE(is_done);
    }
    holder.is_open = true;
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cudaStreamDestroy(other), cudaSuccess);
  }
}

TEST_F(FakeCuda, EventsOrderStreamsAndTellTimes) {
  cudaStream_t first = stream();
  cudaStream_t second = stream();
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  ASSERT_EQ(cudaEventCreate(&begin), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(begin, first), cudaSuccess);
  ASSERT_EQ(cudaEventSynchronize(begin), cudaSuccess);
  Holder holder(first);
  ASSERT_EQ(cudaEventRecord(end, first), cudaSuccess);
  ASSERT_EQ(cudaStreamWaitEvent(second, end, 0), cudaSuccess);
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(cudaStreamQuery(second), cudaErrorNotReady);
  EXPECT_EQ(cudaEventQuery(end), cudaErrorNotReady);
  float milliseconds = 0;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaErrorNotReady);
  holder.is_open = true;
  ASSERT_EQ(cudaStreamSynchronize(second), cudaSuccess);
  ASSERT_EQ(cudaEventElapsedTime(&milliseconds, begin, end), cudaSuccess);
  EXPECT_GE(milliseconds, 10.0F);
  for (cudaEvent_t event : {begin, end}) ASSERT_EQ(cudaEventDestroy(event), cudaSuccess);
  for (cudaStream_t each : {first, second}) ASSERT_EQ(cudaStreamDestroy(each), cudaSuccess);
}

TEST_F(FakeCuda, HostFunctionsShareAThreadAndMayNotCallCuda) {
  cudaStream_t first = stream();
  cudaStream_t second = stream();
  struct Gate {
    std::atomic<bool> is_reached = false;
    std::atomic<bool> is_open = false;
  } gate;
  std::atomic<bool> has_run = false;
  ASSERT_EQ(cudaLaunchHostFunc(
                first,
                [](void* data) {
                  auto& its = *static_cast<Gate*>(data);
                  its.is_reached = true;
                  while (!its.is_open) std::this_thread::sleep_for(1ms);
                },
                &gate),
            cudaSuccess);
  while (!gate.is_reached) std::this_thread::sleep_for(1ms);
  ASSERT_EQ(cudaLaunchHostFunc(
                second,
                [](void* flag) {
                  EXPECT_EQ(cudaSetDevice(0), cudaErrorNotPermitted);
                  *static_cast<std::atomic<bool>*>(flag) = true;
                },
                &has_run),
            cudaSuccess);
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(has_run);
  gate.is_open = true;
  ASSERT_EQ(cudaStreamSynchronize(second), cudaSuccess);
  EXPECT_TRUE(has_run);
  expect_violation("cudaSetDevice was called by a host function");
  for (cudaStream_t each : {first, second}) ASSERT_EQ(cudaStreamDestroy(each), cudaSuccess);
}

TEST_F(FakeCuda, PointersAreKnown) {
  int ordinary = 0;
  void* memory = device_memory();
  void* pinned = pinned_memory();
  cudaPointerAttributes attributes;
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, static_cast<char*>(memory) + 100), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeDevice);
  EXPECT_EQ(attributes.hostPointer, nullptr);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, pinned), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, &ordinary), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  ASSERT_EQ(cudaFree(memory), cudaSuccess);
  ASSERT_EQ(cudaPointerGetAttributes(&attributes, memory), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
  ASSERT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(FakeCuda, WrongUsesAreFound) {
  void* memory = device_memory();
  auto* pinned = static_cast<char*>(pinned_memory());
  cudaStream_t on = stream();
  EXPECT_EQ(cudaMemcpyAsync(pinned, memory, kBytes + 1, cudaMemcpyDefault, on), cudaErrorInvalidValue);
  expect_violation("past the end");
  EXPECT_EQ(cudaMemcpyAsync(pinned, memory, kBytes, cudaMemcpyHostToDevice, on), cudaErrorInvalidValue);
  expect_violation("direction");
  EXPECT_EQ(cudaFree(pinned), cudaErrorInvalidValue);
  expect_violation("which is not from cudaMalloc");
  ASSERT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(cudaMemcpyAsync(pinned, memory, kBytes, cudaMemcpyDefault, on), cudaErrorInvalidValue);
  expect_violation("freed");
  EXPECT_EQ(cudaFree(memory), cudaErrorInvalidValue);
  expect_violation("which is not from cudaMalloc");
  ASSERT_EQ(cudaStreamDestroy(on), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(on), cudaErrorInvalidResourceHandle);
  expect_violation("does not exist");
  ASSERT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(FakeCuda, ADeviceReachesAnotherOnlyAsItsPeer) {
  void* memory = device_memory();
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  cudaStream_t on = stream();
  EXPECT_EQ(cudaMemsetAsync(memory, 1, kBytes, on), cudaErrorIllegalAddress);
  expect_violation("without peer access");
  EXPECT_EQ(cudaStreamSynchronize(on), cudaErrorIllegalAddress) << "the error must stay until the repair";
  fake_cuda_repair();
  ASSERT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
  EXPECT_EQ(cudaMemsetAsync(memory, 1, kBytes, on), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(on), cudaSuccess);
  ASSERT_EQ(cudaDeviceDisablePeerAccess(0), cudaSuccess);
  ASSERT_EQ(cudaStreamDestroy(on), cudaSuccess);
  ASSERT_EQ(cudaFree(memory), cudaSuccess);
}

TEST_F(FakeCuda, FreeingWaitsForTheDevice) {
  void* memory = device_memory();
  cudaStream_t on = stream();
  Holder holder(on);
  std::atomic<bool> is_freed = false;
  std::thread other([&] {
    EXPECT_EQ(cudaFree(memory), cudaSuccess);
    is_freed = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(is_freed);
  holder.is_open = true;
  other.join();
  ASSERT_EQ(cudaStreamDestroy(on), cudaSuccess);
}

}  // namespace
}  // namespace tutti::test
