// Operations of a program that knows NCCL's header only, on host memory.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "nccl_ranks.hpp"

namespace tutti::test {
namespace {

constexpr std::size_t kOdd = 1001;

template <typename T>
std::vector<T> input_of(int rank, std::size_t count = kOdd) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<T>(static_cast<int>(i % 7) + rank + 1);
  return values;
}

template <typename T>
void expect_sums(ncclDataType_t type) {
  for (const int size : {1, 2, 3}) {
    run_nccl_ranks(size, [&](ncclComm_t comm, int rank) {
      std::vector<T> values = input_of<T>(rank);
      EXPECT_NCCL(ncclAllReduce(values.data(), values.data(), kOdd, type, ncclSum, comm, nullptr));
      for (std::size_t i = 0; i < kOdd; ++i) {
        const int sum = size * static_cast<int>(i % 7) + size * (size + 1) / 2;
        ASSERT_EQ(values[i], static_cast<T>(sum)) << "element " << i << " on rank " << rank << " of " << size;
      }
    });
  }
}

TEST(NcclAdapter, AllReduceInPlaceOfEveryArithmeticType) {
  expect_sums<std::int8_t>(ncclInt8);
  expect_sums<std::uint8_t>(ncclUint8);
  expect_sums<std::int32_t>(ncclInt32);
  expect_sums<std::uint32_t>(ncclUint32);
  expect_sums<std::int64_t>(ncclInt64);
  expect_sums<std::uint64_t>(ncclUint64);
  expect_sums<float>(ncclFloat32);
  expect_sums<double>(ncclFloat64);
}

TEST(NcclAdapter, HalvesAreSummed) {
  constexpr std::uint16_t kOneHalf = 0x3c00, kTwoHalf = 0x4000;    // float16
  constexpr std::uint16_t kOneBrain = 0x3f80, kTwoBrain = 0x4000;  // bfloat16
  run_nccl_ranks(2, [&](ncclComm_t comm, int) {
    std::vector<std::uint16_t> halves(kOdd, kOneHalf), brains(kOdd, kOneBrain);
    EXPECT_NCCL(ncclAllReduce(halves.data(), halves.data(), kOdd, ncclFloat16, ncclSum, comm, nullptr));
    EXPECT_NCCL(ncclAllReduce(brains.data(), brains.data(), kOdd, ncclBfloat16, ncclSum, comm, nullptr));
    EXPECT_EQ(halves, std::vector<std::uint16_t>(kOdd, kTwoHalf));
    EXPECT_EQ(brains, std::vector<std::uint16_t>(kOdd, kTwoBrain));
  });
}

TEST(NcclAdapter, EveryReduction) {
  run_nccl_ranks(3, [](ncclComm_t comm, int rank) {
    const auto reduced = [&](ncclRedOp_t op) {
      const float mine = static_cast<float>(rank + 2);
      float result = 0;
      EXPECT_NCCL(ncclAllReduce(&mine, &result, 1, ncclFloat32, op, comm, nullptr));
      return result;
    };
    EXPECT_EQ(reduced(ncclSum), 9);
    EXPECT_EQ(reduced(ncclProd), 24);
    EXPECT_EQ(reduced(ncclMax), 4);
    EXPECT_EQ(reduced(ncclMin), 2);
    EXPECT_EQ(reduced(ncclAvg), 3);
    ncclRedOp_t scaled;
    float factor = static_cast<float>(rank + 1);  // each rank has its own
    EXPECT_NCCL(ncclRedOpCreatePreMulSum(&scaled, &factor, ncclFloat32, ncclScalarHostImmediate, comm));
    factor = 0;
    EXPECT_EQ(reduced(scaled), 2 + 6 + 12);
    EXPECT_NCCL(ncclRedOpDestroy(scaled, comm));
    float value = 1;
    EXPECT_EQ(outcome(ncclAllReduce(&value, &value, 1, ncclFloat32, scaled, comm, nullptr)),
              "invalid argument: reduction 5 does not exist for this communicator");
  });
}

TEST(NcclAdapter, EveryRootedOperation) {
  run_nccl_ranks(3, [](ncclComm_t comm, int rank) {
    for (int root = 0; root < 3; ++root) {
      const std::vector<int> mine = input_of<int>(rank);
      std::vector<int> result(kOdd);
      EXPECT_NCCL(ncclBroadcast(mine.data(), result.data(), kOdd, ncclInt32, root, comm, nullptr));
      EXPECT_EQ(result, input_of<int>(root));
      std::vector<int> in_place = mine;
      EXPECT_NCCL(ncclBcast(in_place.data(), kOdd, ncclInt32, root, comm, nullptr));
      EXPECT_EQ(in_place, input_of<int>(root));
      EXPECT_NCCL(ncclReduce(mine.data(), result.data(), kOdd, ncclInt32, ncclMax, root, comm, nullptr));
      if (rank == root) {
        EXPECT_EQ(result, input_of<int>(2));
      }

      std::vector<int> all(3 * kOdd);
      EXPECT_NCCL(ncclGather(mine.data(), all.data(), kOdd, ncclInt32, root, comm, nullptr));
      std::vector<int> back(kOdd);
      EXPECT_NCCL(ncclScatter(all.data(), back.data(), kOdd, ncclInt32, root, comm, nullptr));
      EXPECT_EQ(back, mine) << "what was gathered is scattered again";
    }
  });
}

TEST(NcclAdapter, OperationsOnBlocks) {
  run_nccl_ranks(3, [](ncclComm_t comm, int rank) {
    const auto own = static_cast<std::size_t>(rank);
    std::vector<int> all(3 * kOdd);
    std::iota(all.begin(), all.end(), 1000 * rank);
    std::vector<int> exchanged(3 * kOdd);
    EXPECT_NCCL(ncclAlltoAll(all.data(), exchanged.data(), kOdd, ncclInt32, comm, nullptr));
    for (std::size_t peer = 0; peer < 3; ++peer)
      EXPECT_EQ(exchanged[peer * kOdd], static_cast<int>(1000 * peer + own * kOdd));

    // In place: each rank's block of the common buffer.
    EXPECT_NCCL(ncclReduceScatter(all.data(), all.data() + own * kOdd, kOdd, ncclInt32, ncclSum, comm, nullptr));
    EXPECT_EQ(all[own * kOdd], static_cast<int>(3000 + 3 * own * kOdd));
    EXPECT_NCCL(ncclAllGather(all.data() + own * kOdd, all.data(), kOdd, ncclInt32, comm, nullptr));
    for (std::size_t i = 0; i < 3 * kOdd; i += 97) EXPECT_EQ(all[i], static_cast<int>(3000 + 3 * i));
  });
}

TEST(NcclAdapter, EightBitFloatsAreMovedAndReduced) {
  run_nccl_ranks(3, [](ncclComm_t comm, int rank) {
    using Bytes = std::vector<std::uint8_t>;
    Bytes bytes(kOdd, static_cast<std::uint8_t>(rank));
    EXPECT_NCCL(ncclBcast(bytes.data(), kOdd, ncclFloat8e5m2, 1, comm, nullptr));
    EXPECT_EQ(bytes, Bytes(kOdd, 1));
    // 16 + 1 + 1: rounded after each sum it would stay 16 in e4m3, whose next number is 18.
    bytes.assign(kOdd, rank == 0 ? 0x58 : 0x38);
    EXPECT_NCCL(ncclAllReduce(bytes.data(), bytes.data(), kOdd, ncclFloat8e4m3, ncclSum, comm, nullptr));
    EXPECT_EQ(bytes, Bytes(kOdd, 0x59));
    // 8 + 1 + 1 in e5m2, whose next number is 10.
    bytes.assign(kOdd, rank == 0 ? 0x48 : 0x3C);
    EXPECT_NCCL(ncclAllReduce(bytes.data(), bytes.data(), kOdd, ncclFloat8e5m2, ncclSum, comm, nullptr));
    EXPECT_EQ(bytes, Bytes(kOdd, 0x49));
    bytes.assign(kOdd, 0x7E);  // the largest number: three times that is no number of e4m3
    EXPECT_NCCL(ncclAllReduce(bytes.data(), bytes.data(), kOdd, ncclFloat8e4m3, ncclSum, comm, nullptr));
    EXPECT_EQ(bytes, Bytes(kOdd, 0x7E));
    EXPECT_NCCL(ncclAllReduce(bytes.data(), bytes.data(), kOdd, ncclFloat8e4m3, ncclAvg, comm, nullptr));
    EXPECT_EQ(bytes, Bytes(kOdd, 0x7E));
  });
}

TEST(NcclAdapter, GroupsOfMessagesFormARing) {
  for (const int size : {1, 2, 3}) {
    run_nccl_ranks(size, [&](ncclComm_t comm, int rank) {
      const std::vector<int> mine = input_of<int>(rank);
      std::vector<int> received(kOdd);
      EXPECT_NCCL(ncclGroupStart());
      EXPECT_NCCL(ncclSend(mine.data(), kOdd, ncclInt32, (rank + 1) % size, comm, nullptr));
      EXPECT_NCCL(ncclRecv(received.data(), kOdd, ncclInt32, (rank + size - 1) % size, comm, nullptr));
      EXPECT_NCCL(ncclGroupEnd());
      EXPECT_EQ(received, input_of<int>((rank + size - 1) % size));
    });
  }
}

TEST(NcclAdapter, OneThreadHoldsAllRanks) {
  constexpr int kRanks = 3;
  std::vector<ncclComm_t> comms(kRanks);
  EXPECT_NCCL(ncclCommInitAll(comms.data(), kRanks, nullptr));
  std::vector<std::vector<int>> values;
  for (int rank = 0; rank < kRanks; ++rank) values.push_back(input_of<int>(rank));
  EXPECT_NCCL(ncclGroupStart());
  EXPECT_NCCL(ncclGroupStart()) << "groups nest";
  for (std::size_t rank = 0; rank < kRanks; ++rank)
    EXPECT_NCCL(
        ncclAllReduce(values[rank].data(), values[rank].data(), kOdd, ncclInt32, ncclMax, comms[rank], nullptr));
  EXPECT_NCCL(ncclGroupEnd());
  EXPECT_NE(values[0], input_of<int>(kRanks - 1)) << "the inner end starts nothing";
  EXPECT_NCCL(ncclGroupEnd());
  for (const std::vector<int>& result : values) EXPECT_EQ(result, input_of<int>(kRanks - 1));

  std::vector<ncclComm_t> halves(kRanks);
  EXPECT_NCCL(ncclGroupStart());
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    const int color = rank == 1 ? NCCL_SPLIT_NOCOLOR : 0;
    EXPECT_NCCL(ncclCommSplit(comms[rank], color, -static_cast<int>(rank), &halves[rank], nullptr));
  }
  EXPECT_NCCL(ncclGroupEnd());
  EXPECT_EQ(halves[1], nullptr);
  int rank = -1, size = 0;
  EXPECT_NCCL(ncclCommUserRank(halves[2], &rank));
  EXPECT_NCCL(ncclCommCount(halves[0], &size));
  EXPECT_EQ(rank, 0) << "its key is the smallest";
  EXPECT_EQ(size, 2);
  for (const ncclComm_t comm : comms) EXPECT_NCCL(ncclCommDestroy(comm));
  for (const ncclComm_t comm : halves) EXPECT_NCCL(ncclCommDestroy(comm));
}

TEST(NcclAdapter, AFailedCallDiscardsItsGroup) {
  run_nccl_ranks(1, [](ncclComm_t comm, int) {
    int value = 7, result = 0;
    EXPECT_NCCL(ncclGroupStart());
    EXPECT_NCCL(ncclAllReduce(&value, &result, 1, ncclInt32, ncclSum, comm, nullptr));
    const std::string refused = outcome(ncclBcast(&value, 1, ncclInt32, 5, comm, nullptr));
    EXPECT_NE(refused.find("invalid argument: "), std::string::npos) << refused;
    EXPECT_EQ(outcome(ncclGroupEnd()), refused);
    EXPECT_EQ(result, 0);
    EXPECT_EQ(outcome(ncclGroupEnd()), "invalid usage: ncclGroupEnd() was called without ncclGroupStart()");
    EXPECT_NCCL(ncclAllReduce(&value, &result, 1, ncclInt32, ncclSum, comm, nullptr));
    EXPECT_EQ(result, 7);
  });
}

TEST(NcclAdapter, OperationsWithAConfiguration) {
  run_nccl_ranks(2, [](ncclComm_t comm, int rank) {
    int value = rank + 1;
    ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
    config.maxCTAs = 4;
    EXPECT_NCCL(ncclAllReduceConfig(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr, &config));
    EXPECT_EQ(value, 3);
    EXPECT_NCCL(ncclAllReduceConfig(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr, nullptr));
    config.algSelection = "ring";
    const std::string refused = outcome(ncclBroadcastConfig(&value, &value, 1, ncclInt32, 0, comm, nullptr, &config));
    EXPECT_NE(refused.find("invalid usage: algSelection names an algorithm"), std::string::npos) << refused;
    config.magic = 0;
    const std::string wild = outcome(ncclBroadcastConfig(&value, &value, 1, ncclInt32, 0, comm, nullptr, &config));
    EXPECT_NE(wild.find("NCCL_COLLCONFIG_INITIALIZER"), std::string::npos) << wild;
  });
}

}  // namespace
}  // namespace tutti::test
