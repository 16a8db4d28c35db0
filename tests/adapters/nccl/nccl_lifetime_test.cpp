// Creation, failure and end of communicators through NCCL's interface.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "nccl_ranks.hpp"

namespace tutti::test {
namespace {

int sum_of_ones(ncclComm_t comm) {
  int value = 1;
  EXPECT_NCCL(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr));
  return value;
}

TEST(NcclLifetime, NonBlockingCreation) {
  ncclUniqueId id;
  EXPECT_NCCL(ncclGetUniqueId(&id));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  std::array<ncclComm_t, 2> comms{};
  ASSERT_EQ(ncclCommInitRankConfig(&comms[0], 2, id, 0, &config), ncclInProgress);
  ncclResult_t state = ncclSuccess;
  EXPECT_NCCL(ncclCommGetAsyncError(comms[0], &state));
  EXPECT_EQ(state, ncclInProgress) << "the other rank has not come yet";
  int value = 0;
  const std::string refused = outcome(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comms[0], nullptr));
  EXPECT_NE(refused.find("still being created"), std::string::npos) << refused;
  ASSERT_EQ(ncclCommInitRankConfig(&comms[1], 2, id, 1, &config), ncclInProgress);
  for (const ncclComm_t comm : comms) {
    do {
      EXPECT_NCCL(ncclCommGetAsyncError(comm, &state));
      std::this_thread::yield();
    } while (state == ncclInProgress);
    EXPECT_EQ(state, ncclSuccess);
  }
  std::thread other([&] { EXPECT_EQ(sum_of_ones(comms[1]), 2); });
  EXPECT_EQ(sum_of_ones(comms[0]), 2);
  other.join();
  for (const ncclComm_t comm : comms) EXPECT_NCCL(ncclCommDestroy(comm));
}

TEST(NcclLifetime, RanksOfOneThreadAreCreatedInAGroup) {
  ncclUniqueId id;
  EXPECT_NCCL(ncclGetUniqueId(&id));
  std::array<ncclComm_t, 3> comms{};
  EXPECT_NCCL(ncclGroupStart());
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_NCCL(ncclCommInitRank(&comms[static_cast<std::size_t>(rank)], 3, id, rank));
  EXPECT_NCCL(ncclGroupEnd());
  for (const ncclComm_t comm : comms) EXPECT_NCCL(ncclCommDestroy(comm));
}

TEST(NcclLifetime, ShrunkAfterARankIsLost) {
  run_nccl_ranks(3, [](ncclComm_t& comm, int rank) {
    if (rank == 1) {
      EXPECT_NCCL(ncclCommAbort(comm));
      comm = nullptr;
      return;
    }
    int value = 1;
    EXPECT_NE(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr), ncclSuccess)
        << "a rank is missing, so the operation must not succeed";
    int lost = 1;
    ncclComm_t rest = nullptr;
    EXPECT_NCCL(ncclCommShrink(comm, &lost, 1, &rest, nullptr, NCCL_SHRINK_ABORT));
    ASSERT_NE(rest, nullptr);
    EXPECT_EQ(sum_of_ones(rest), 2);
    EXPECT_NCCL(ncclCommDestroy(rest));
  });
}

TEST(NcclLifetime, AbortEndsTheWaitOfTheOthers) {
  run_nccl_ranks(2, [](ncclComm_t& comm, int rank) {
    if (rank == 0) {
      EXPECT_NCCL(ncclCommAbort(comm));
      comm = nullptr;
      return;
    }
    int value = 1;
    const std::string ended = outcome(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr));
    EXPECT_NE(ended.find("remote process exited or aborted: "), std::string::npos) << ended;
    EXPECT_NE(ended.find("rank 0"), std::string::npos) << ended;
  });
}

TEST(NcclLifetime, ARevokedCommunicatorCanBeSplit) {
  run_nccl_ranks(2, [](ncclComm_t& comm, int) {
    EXPECT_EQ(sum_of_ones(comm), 2);
    EXPECT_NCCL(ncclCommRevoke(comm, NCCL_REVOKE_DEFAULT));
    int value = 1;
    const std::string refused = outcome(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr));
    EXPECT_NE(refused.find("revoked"), std::string::npos) << refused;
    ncclComm_t fresh = nullptr;
    EXPECT_NCCL(ncclCommSplit(comm, 0, 0, &fresh, nullptr));
    ASSERT_NE(fresh, nullptr);
    EXPECT_EQ(sum_of_ones(fresh), 2);
    EXPECT_NCCL(ncclCommDestroy(fresh));
  });
}

TEST(NcclLifetime, WrongArgumentsAreNamed) {
  int value = 0;
  EXPECT_EQ(outcome(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, nullptr, nullptr)),
            "invalid argument: the communicator is null");
  ncclUniqueId foreign{};
  ncclComm_t comm = nullptr;
  const std::string id = outcome(ncclCommInitRank(&comm, 2, foreign, 0));
  EXPECT_NE(id.find("was not made by ncclGetUniqueId() of tutti"), std::string::npos) << id;
  EXPECT_EQ(comm, nullptr);
  EXPECT_EQ(outcome(ncclCommInitRank(&comm, 2, foreign, 2)), "invalid argument: rank 2 of 2 ranks does not exist");
  ncclConfig_t config{};
  const std::string wild = outcome(ncclCommInitRankConfig(&comm, 1, foreign, 0, &config));
  EXPECT_NE(wild.find("NCCL_CONFIG_INITIALIZER"), std::string::npos) << wild;

  EXPECT_NCCL(ncclCommInitAll(&comm, 1, nullptr));
  EXPECT_NE(outcome(ncclAllReduce(&value, &value, 1, static_cast<ncclDataType_t>(15), ncclSum, comm, nullptr))
                .find("datatype 15 does not exist"),
            std::string::npos);
  EXPECT_NE(outcome(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, reinterpret_cast<cudaStream_t>(8)))
                .find("invalid argument: "),
            std::string::npos);
  EXPECT_NE(outcome(ncclCommGrow(comm, 2, nullptr, -1, &comm, nullptr)).find("ncclCommGrow() is not there"),
            std::string::npos);
  const ncclComm_t destroyed = comm;
  EXPECT_NCCL(ncclCommDestroy(comm));
  EXPECT_EQ(outcome(ncclCommDestroy(destroyed)), "invalid argument: the communicator was destroyed, or never made");
}

TEST(NcclLifetime, ShortConfigurationsOfOlderPrograms) {
  ncclUniqueId id;
  EXPECT_NCCL(ncclGetUniqueId(&id));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.size = offsetof(ncclConfig_t, commName);
  config.commName = reinterpret_cast<const char*>(8);  // behind the end of the older structure
  ncclComm_t comm = nullptr;
  EXPECT_NCCL(ncclCommInitRankConfig(&comm, 1, id, 0, &config));
  EXPECT_NCCL(ncclCommDestroy(comm));
}

TEST(NcclLifetime, RegisteredMemoryAndWindows) {
  run_nccl_ranks(2, [](ncclComm_t& comm, int rank) {
    constexpr std::size_t kBytes = 1 << 20;
    void* data = nullptr;
    EXPECT_NCCL(ncclMemAlloc(&data, kBytes));
    auto* const values = static_cast<int*>(data);
    ncclWindow_t window = nullptr;
    EXPECT_NCCL(ncclCommWindowRegister(comm, data, kBytes, &window, NCCL_WIN_COLL_SYMMETRIC));
    void* found = nullptr;
    EXPECT_NCCL(ncclWinGetUserPtr(comm, window, &found));
    EXPECT_EQ(found, data);
    values[7] = rank + 1;
    EXPECT_NCCL(ncclAllReduce(data, data, kBytes / sizeof(int), ncclInt32, ncclSum, comm, nullptr));
    EXPECT_EQ(values[7], 3);
    EXPECT_NCCL(ncclCommWindowDeregister(comm, window));

    void* const own = std::aligned_alloc(4096, kBytes);
    void* handle = nullptr;
    EXPECT_NCCL(ncclCommRegister(comm, own, kBytes, &handle));
    EXPECT_NCCL(ncclAllReduce(data, own, kBytes / sizeof(int), ncclInt32, ncclMax, comm, nullptr));
    EXPECT_EQ(static_cast<int*>(own)[7], 3);
    EXPECT_NCCL(ncclCommDeregister(comm, handle));
    std::free(own);
    EXPECT_NCCL(ncclMemFree(data));
  });
}

}  // namespace
}  // namespace tutti::test
