// Operations of a program that knows NCCL's and CUDA's headers only, on memory and streams of the fake CUDA.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <vector>

#include "fakes/cudart/fake_cuda_test_base.hpp"
#include "nccl_ranks.hpp"

namespace tutti::test {
namespace {

constexpr std::size_t kCount = 100'003;

/// Memory of the current device.
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<float>& values) : count_(values.size()) {
    EXPECT_EQ(cudaMalloc(&data_, bytes()), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::vector<float> values() const {
    std::vector<float> result(count_);
    EXPECT_EQ(cudaMemcpy(result.data(), data_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    return result;
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(float); }
  void* data_ = nullptr;
  std::size_t count_;
};

using NcclDevice = FakeCudaTest;

/// Runs `body` on two ranks with a device and a stream each.
void run_on_devices(const std::function<void(ncclComm_t comm, int rank, cudaStream_t stream)>& body) {
  run_nccl_ranks(2, [&](ncclComm_t comm, int rank) {
    ASSERT_EQ(cudaSetDevice(rank), cudaSuccess);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    body(comm, rank, stream);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  });
}

std::vector<float> filled(float value, std::size_t count = kCount) { return std::vector<float>(count, value); }

TEST_F(NcclDevice, CollectivesAreOrderedOnTheStream) {
  run_on_devices([](ncclComm_t comm, int rank, cudaStream_t stream) {
    const DeviceArray in(filled(static_cast<float>(rank + 1)));
    const DeviceArray sum(filled(0));
    const DeviceArray all(filled(0, 2 * kCount));
    // Each takes the result of the one before, without the host between them.
    EXPECT_NCCL(ncclAllReduce(in.data(), sum.data(), kCount, ncclFloat32, ncclSum, comm, stream));
    EXPECT_NCCL(ncclAllReduce(sum.data(), sum.data(), kCount, ncclFloat32, ncclProd, comm, stream));
    EXPECT_NCCL(ncclAllGather(sum.data(), all.data(), kCount, ncclFloat32, comm, stream));
    EXPECT_NCCL(ncclBroadcast(in.data(), sum.data(), kCount, ncclFloat32, 1, comm, stream));
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(all.values(), filled(9, 2 * kCount));
    EXPECT_EQ(sum.values(), filled(2));
  });
}

TEST_F(NcclDevice, GroupsOfMessagesAndReductions) {
  run_on_devices([](ncclComm_t comm, int rank, cudaStream_t stream) {
    const DeviceArray mine(filled(static_cast<float>(10 + rank)));
    const DeviceArray theirs(filled(0));
    const DeviceArray sum(filled(static_cast<float>(rank)));
    EXPECT_NCCL(ncclGroupStart());
    EXPECT_NCCL(ncclSend(mine.data(), kCount, ncclFloat32, 1 - rank, comm, stream));
    EXPECT_NCCL(ncclRecv(theirs.data(), kCount, ncclFloat32, 1 - rank, comm, stream));
    EXPECT_NCCL(ncclAllReduce(sum.data(), sum.data(), kCount, ncclFloat32, ncclMax, comm, stream));
    EXPECT_NCCL(ncclGroupEnd());
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(theirs.values(), filled(static_cast<float>(11 - rank)));
    EXPECT_EQ(sum.values(), filled(1));
  });
}

}  // namespace
}  // namespace tutti::test
