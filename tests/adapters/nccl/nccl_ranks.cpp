#include "nccl_ranks.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace tutti::test {

std::string outcome(ncclResult_t result) {
  if (result == ncclSuccess) return "ok";
  return std::string(ncclGetErrorString(result)) + ": " + ncclGetLastError(nullptr);
}

void run_nccl_ranks(int size, const std::function<void(ncclComm_t& comm, int rank)>& body) {
  ncclUniqueId id;
  EXPECT_NCCL(ncclGetUniqueId(&id));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      ncclComm_t comm = nullptr;
      EXPECT_NCCL(ncclCommInitRank(&comm, size, id, rank));
      if (comm == nullptr) return;
      body(comm, rank);
      EXPECT_NCCL(ncclCommDestroy(comm));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace tutti::test
