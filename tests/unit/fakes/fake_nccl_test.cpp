// Tests the fake NCCL: it must be as strict as the real NCCL on a GPU, or the tests that use it prove nothing.
#include <nccl.h>

#include <array>
#include <cstring>
#include <functional>
#include <thread>

#include "fakes/cudart/fake_cuda_test_base.hpp"

namespace tutti::test {
namespace {

class FakeNccl : public FakeCudaTest {
 protected:
  /// A rank that is a thread and has its own GPU.
  struct Rank {
    int rank = 0;
    ncclComm_t comm = nullptr;
    cudaStream_t stream = nullptr;
    int* data = nullptr;
  };
  static void on_ranks(const std::function<void(Rank&)>& body) {
    ncclUniqueId id = {};
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    std::array<std::thread, 2> threads;
    for (int rank = 0; rank < 2; ++rank) {
      threads[static_cast<std::size_t>(rank)] = std::thread([&, rank] {
        Rank own{.rank = rank};
        EXPECT_EQ(cudaSetDevice(rank), cudaSuccess);
        EXPECT_EQ(cudaStreamCreate(&own.stream), cudaSuccess);
        EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&own.data), 4096), cudaSuccess);
        EXPECT_EQ(ncclCommInitRank(&own.comm, 2, id, rank), ncclSuccess);
        body(own);
        if (own.comm != nullptr) {
          EXPECT_EQ(ncclCommDestroy(own.comm), ncclSuccess);
        }
        (void)cudaStreamSynchronize(own.stream);
        (void)cudaFree(own.data);
        (void)cudaStreamDestroy(own.stream);
        (void)cudaGetLastError();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  static void expect_violation(const std::string& word) {
    const std::string all = take_cuda_violations();
    EXPECT_NE(all.find(word), std::string::npos) << word << " is not in: " << all;
  }
};

TEST_F(FakeNccl, SaysThatItIsOne) {
  EXPECT_NE(std::string(ncclGetErrorString(ncclSystemError)).find("fake"), std::string::npos);
  ncclUniqueId id = {};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  EXPECT_NE(std::string(id.internal).find("fake"), std::string::npos);
}

TEST_F(FakeNccl, SumsInTheOrderOfStreams) {
  on_ranks([](Rank& own) {
    const int mine = 10 + own.rank;
    EXPECT_EQ(cudaMemcpyAsync(own.data, &mine, sizeof mine, cudaMemcpyHostToDevice, own.stream), cudaSuccess);
    EXPECT_EQ(ncclAllReduce(own.data, own.data, 1, ncclInt32, ncclSum, own.comm, own.stream), ncclSuccess);
    int result = 0;
    EXPECT_EQ(cudaMemcpyAsync(&result, own.data, sizeof result, cudaMemcpyDeviceToHost, own.stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(own.stream), cudaSuccess);
    EXPECT_EQ(result, 21);
  });
}

TEST_F(FakeNccl, RefusesTwoRanksOnOneGpu) {
  ncclUniqueId id = {};
  ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::array<std::thread, 2> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads[static_cast<std::size_t>(rank)] = std::thread([&, rank] {
      ncclComm_t comm = nullptr;
      EXPECT_EQ(ncclCommInitRank(&comm, 2, id, rank), ncclInvalidUsage);
      EXPECT_NE(std::string(ncclGetLastError(comm)).find("Duplicate GPU detected"), std::string::npos);
      EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(FakeNccl, FindsMismatchedCounts) {
  on_ranks([](Rank& own) {
    EXPECT_EQ(ncclAllReduce(own.data, own.data, own.rank == 0 ? 1 : 2, ncclInt32, ncclSum, own.comm, own.stream),
              ncclSuccess);
    ncclResult_t state = ncclSuccess;
    while (state == ncclSuccess) EXPECT_EQ(ncclCommGetAsyncError(own.comm, &state), ncclSuccess);
    EXPECT_EQ(state, ncclInvalidUsage);
    EXPECT_EQ(ncclCommAbort(own.comm), ncclSuccess);
    own.comm = nullptr;
  });
  expect_violation("the ranks of NCCL call different operations");
}

TEST_F(FakeNccl, FindsMemoryThatTheGpuDoesNotReach) {
  on_ranks([](Rank& own) {
    int host = 0;
    void* const wrong = own.rank == 0 ? &host : own.data;
    EXPECT_EQ(ncclAllReduce(wrong, wrong, 1, ncclInt32, ncclSum, own.comm, own.stream), ncclSuccess);
    ncclResult_t state = ncclSuccess;
    while (own.rank == 0 && state == ncclSuccess) EXPECT_EQ(ncclCommGetAsyncError(own.comm, &state), ncclSuccess);
    EXPECT_EQ(ncclCommAbort(own.comm), ncclSuccess);
    own.comm = nullptr;
    (void)cudaStreamSynchronize(own.stream);
  });
  EXPECT_NE(take_cuda_violations(), "");
  fake_cuda_repair();
}

TEST_F(FakeNccl, FindsElementsThatAreNotAligned) {
  on_ranks([](Rank& own) {
    void* const odd = reinterpret_cast<char*>(own.data) + 1;
    EXPECT_EQ(ncclAllReduce(odd, odd, 1, ncclInt32, ncclSum, own.comm, own.stream), ncclSuccess);
    EXPECT_EQ(cudaStreamSynchronize(own.stream), cudaSuccess);
  });
  expect_violation("not aligned");
}

TEST_F(FakeNccl, FindsAStreamOfAnotherDevice) {
  on_ranks([](Rank& own) {
    cudaStream_t other = nullptr;
    EXPECT_EQ(cudaSetDevice(1 - own.rank), cudaSuccess);
    EXPECT_EQ(cudaStreamCreate(&other), cudaSuccess);
    EXPECT_EQ(ncclAllReduce(own.data, own.data, 1, ncclInt32, ncclSum, own.comm, other), ncclInvalidUsage);
    EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
  });
  expect_violation("a stream of another device");
}

TEST_F(FakeNccl, FindsTheUseOfAnAbortedCommunicator) {
  on_ranks([](Rank& own) {
    EXPECT_EQ(ncclCommAbort(own.comm), ncclSuccess);
    EXPECT_EQ(ncclAllReduce(own.data, own.data, 1, ncclInt32, ncclSum, own.comm, own.stream), ncclInvalidArgument);
    own.comm = nullptr;
  });
  expect_violation("got an NCCL communicator that does not exist");
}

TEST_F(FakeNccl, FindsAGroupThatWasNotBegun) {
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  expect_violation("without ncclGroupStart");
}

TEST_F(FakeNccl, CommunicatorsThatDoNotBlockConnectInTheBackground) {
  void* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, 16), cudaSuccess);
  // A second call is refused while the first is still being connected. If this thread is delayed, the first call may
  // have finished before, so the test repeats.
  bool was_refused = false;
  for (int attempt = 0; attempt < 100 && !was_refused; ++attempt) {
    ncclUniqueId id = {};
    ASSERT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInProgress);
    const auto settle = [&] {
      ncclResult_t state = ncclInProgress;
      while (state == ncclInProgress) EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclSuccess);
      EXPECT_EQ(state, ncclSuccess);
    };
    const auto reduce = [&] { return ncclAllReduce(data, data, 1, ncclInt32, ncclSum, comm, nullptr); };
    settle();
    EXPECT_EQ(reduce(), ncclInProgress);
    was_refused = reduce() == ncclInvalidUsage;
    settle();
    EXPECT_EQ(reduce(), ncclSuccess);
    EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  }
  EXPECT_TRUE(was_refused);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
}

}  // namespace
}  // namespace tutti::test
