#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "support/observers/recording_observer.hpp"
#include "tutti/tutti.h"

namespace {

/// Runs `body(comm)` on `size` ranks that are threads, then frees the communicators.
void as_ranks(int size, const std::function<void(tutti_comm_t)>& body) {
  std::vector<tutti_comm_t> comms(static_cast<std::size_t>(size));
  ASSERT_EQ(tutti_local_group(size, "native", comms.data()), TUTTI_OK) << tutti_last_error();
  {
    std::vector<std::jthread> threads;
    for (tutti_comm_t comm : comms) threads.emplace_back([&body, comm] { body(comm); });
  }
  for (tutti_comm_t comm : comms) tutti_comm_free(comm);
}

TEST(CApi, ReducesAndGathers) {
  as_ranks(3, [](tutti_comm_t comm) {
    const std::int32_t mine = tutti_comm_rank(comm) + 1;
    std::int32_t sum = 0;
    EXPECT_EQ(tutti_allreduce(&mine, &sum, 1, TUTTI_INT32, TUTTI_SUM, comm, nullptr), TUTTI_OK);
    EXPECT_EQ(sum, 6);
    std::array<std::int32_t, 3> all{};
    EXPECT_EQ(tutti_allgather(&mine, all.data(), 1, TUTTI_INT32, comm, nullptr), TUTTI_OK);
    EXPECT_EQ(all, (std::array<std::int32_t, 3>{1, 2, 3}));
    EXPECT_STREQ(tutti_comm_backend(comm), "native");
    EXPECT_EQ(tutti_comm_size(comm), 3);
  });
}

TEST(CApi, GroupsSpanCommunicators) {
  std::array<tutti_comm_t, 2> comms{};
  ASSERT_EQ(tutti_local_group(2, "native", comms.data()), TUTTI_OK) << tutti_last_error();
  std::array<std::int32_t, 2> values = {3, 4};
  // One thread calls the operations of both ranks.
  for (const bool is_async : {false, true}) {
    std::array<std::int32_t, 2> sums{};
    ASSERT_EQ(tutti_group_begin(), TUTTI_OK);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(tutti_allreduce(&values[rank], &sums[rank], 1, TUTTI_INT32, TUTTI_SUM, comms[rank], nullptr), TUTTI_OK);
    }
    EXPECT_EQ(sums[0], 0) << "the group has not been ended";
    tutti_work_t work = nullptr;
    ASSERT_EQ(tutti_group_end(is_async ? &work : nullptr), TUTTI_OK) << tutti_last_error();
    if (is_async) {
      ASSERT_NE(work, nullptr);
      EXPECT_EQ(tutti_work_wait(work), TUTTI_OK);
      tutti_work_free(work);
    }
    EXPECT_EQ(sums, (std::array<std::int32_t, 2>{7, 7}));
  }
  EXPECT_EQ(tutti_group_end(nullptr), TUTTI_INVALID_USAGE) << "no group is open";
  ASSERT_EQ(tutti_group_begin(), TUTTI_OK);
  EXPECT_EQ(tutti_barrier(comms[0], nullptr), TUTTI_OK);
  tutti_group_discard();
  EXPECT_EQ(tutti_group_end(nullptr), TUTTI_INVALID_USAGE);
  for (tutti_comm_t comm : comms) tutti_comm_free(comm);
}

TEST(CApi, LabelReachesTheObserver) {
  const tutti::test::RecordingObserver recorder;
  as_ranks(2, [](tutti_comm_t comm) {
    std::int32_t value = 1;
    tutti_options options = TUTTI_OPTIONS_INIT;
    options.label = "gradient/0";
    EXPECT_EQ(tutti_allreduce(&value, &value, 1, TUTTI_INT32, TUTTI_SUM, comm, &options), TUTTI_OK);
  });
  ASSERT_EQ(recorder.issued().size(), 2u);
  for (const auto& issued : recorder.issued()) EXPECT_EQ(issued.label, "gradient/0");
}

TEST(CApi, SharedMemoryOfBothKinds) {
  as_ranks(2, [](tutti_comm_t comm) {
    constexpr std::size_t kCount = 1U << 16;
    void* given = nullptr;
    ASSERT_EQ(tutti_allocate(kCount * sizeof(float), &given), TUTTI_OK);
    void* const own = std::aligned_alloc(4096, kCount * sizeof(float));
    std::fill_n(static_cast<float*>(own), kCount, 2.0F);
    ASSERT_EQ(tutti_share(own, kCount * sizeof(float)), TUTTI_OK);
    EXPECT_EQ(tutti_allreduce(own, given, kCount, TUTTI_FLOAT32, TUTTI_SUM, comm, nullptr), TUTTI_OK);
    EXPECT_EQ(static_cast<float*>(given)[kCount - 1], 4.0F);
    tutti_unshare(own);
    EXPECT_EQ(static_cast<float*>(own)[kCount - 1], 2.0F);
    std::free(own);
    tutti_free(given);
  });
  EXPECT_EQ(tutti_allocate(1, nullptr), TUTTI_INVALID_ARGUMENT);
  int local = 0;
  EXPECT_EQ(tutti_share(&local, sizeof(local)), TUTTI_INVALID_ARGUMENT);
  EXPECT_STRNE(tutti_last_error(), "");
  tutti_free(nullptr);
  tutti_unshare(nullptr);
}

TEST(CApi, MovesWithRootsAndBlocks) {
  as_ranks(2, [](tutti_comm_t comm) {
    const int rank = tutti_comm_rank(comm);
    std::array<double, 2> pair = {rank * 10.0, rank * 10.0 + 1};
    double mine = 0;
    EXPECT_EQ(tutti_scatter(pair.data(), &mine, 1, TUTTI_FLOAT64, 1, comm, nullptr), TUTTI_OK);
    EXPECT_EQ(mine, 10.0 + rank);
    std::array<double, 2> swapped{};
    EXPECT_EQ(tutti_alltoall(pair.data(), swapped.data(), 1, TUTTI_FLOAT64, comm, nullptr), TUTTI_OK);
    EXPECT_EQ(swapped[0], rank);
    EXPECT_EQ(swapped[1], 10.0 + rank);
    std::array<double, 2> gathered{-1, -1};
    EXPECT_EQ(tutti_gather(&mine, gathered.data(), 1, TUTTI_FLOAT64, 0, comm, nullptr), TUTTI_OK);
    EXPECT_EQ(gathered[1], rank == 0 ? 11.0 : -1.0);
    double value = rank;
    EXPECT_EQ(tutti_broadcast(&value, &value, 1, TUTTI_FLOAT64, 1, comm, nullptr), TUTTI_OK);
    EXPECT_EQ(value, 1.0);
    double most = -1;
    EXPECT_EQ(tutti_reduce(&mine, &most, 1, TUTTI_FLOAT64, TUTTI_MAX, 1, comm, nullptr), TUTTI_OK);
    EXPECT_EQ(most, rank == 1 ? 11.0 : -1.0);
    double half = 0;
    EXPECT_EQ(tutti_reduce_scatter(pair.data(), &half, 1, TUTTI_FLOAT64, TUTTI_SUM, comm, nullptr), TUTTI_OK);
    EXPECT_EQ(half, rank == 0 ? 10.0 : 12.0);
  });
}

TEST(CApi, VectorForms) {
  as_ranks(2, [](tutti_comm_t comm) {
    const int rank = tutti_comm_rank(comm);
    const std::array<std::uint64_t, 2> counts = {1, 2};
    const std::array<std::uint64_t, 2> places = {0, 2};
    const std::array<std::uint8_t, 2> mine = {static_cast<std::uint8_t>(rank * 10 + 1),
                                              static_cast<std::uint8_t>(rank * 10 + 2)};
    std::array<std::uint8_t, 4> all = {0, 99, 0, 0};
    EXPECT_EQ(tutti_allgatherv(mine.data(), counts[static_cast<std::size_t>(rank)], all.data(), counts.data(),
                               places.data(), TUTTI_UINT8, comm, nullptr),
              TUTTI_OK)
        << tutti_last_error();
    EXPECT_EQ(all, (std::array<std::uint8_t, 4>{1, 99, 11, 12}));
    std::array<std::uint8_t, 2> part{};
    EXPECT_EQ(tutti_scatterv(all.data(), counts.data(), places.data(), part.data(),
                             counts[static_cast<std::size_t>(rank)], TUTTI_UINT8, 0, comm, nullptr),
              TUTTI_OK);
    EXPECT_EQ(part[0], rank == 0 ? 1 : 11);
    std::array<std::uint8_t, 3> packed{};
    EXPECT_EQ(tutti_gatherv(part.data(), counts[static_cast<std::size_t>(rank)], packed.data(), counts.data(), nullptr,
                            TUTTI_UINT8, 1, comm, nullptr),
              TUTTI_OK);
    if (rank == 1) {
      EXPECT_EQ(packed, (std::array<std::uint8_t, 3>{1, 11, 12}));
    }
    std::array<std::uint8_t, 3> summed = {1, 2, 3};
    EXPECT_EQ(tutti_reduce_scatterv(summed.data(), counts.data(), part.data(), counts[static_cast<std::size_t>(rank)],
                                    TUTTI_UINT8, TUTTI_SUM, comm, nullptr),
              TUTTI_OK)
        << tutti_last_error();
    EXPECT_EQ(part[0], rank == 0 ? 2 : 4);
    EXPECT_EQ(tutti_reduce_scatterv(summed.data(), nullptr, part.data(), 1, TUTTI_UINT8, TUTTI_SUM, comm, nullptr),
              TUTTI_INVALID_ARGUMENT);
    std::array<std::uint8_t, 2> eighths = {0x38, 0x7E};  // 1 and 448
    EXPECT_EQ(tutti_allreduce(eighths.data(), eighths.data(), 2, TUTTI_FLOAT8_E4M3, TUTTI_SUM, comm, nullptr),
              TUTTI_OK);
    EXPECT_EQ(eighths, (std::array<std::uint8_t, 2>{0x40, 0x7E}));
    const std::array<std::uint64_t, 2> ones = {1, 1};
    std::array<std::uint8_t, 2> crossed{};
    EXPECT_EQ(tutti_alltoallv(mine.data(), ones.data(), nullptr, crossed.data(), ones.data(), nullptr, TUTTI_UINT8,
                              comm, nullptr),
              TUTTI_OK);
    EXPECT_EQ(crossed[1], 11 + rank);
  });
}

TEST(CApi, AsynchronousAndGrouped) {
  as_ranks(2, [](tutti_comm_t comm) {
    const int rank = tutti_comm_rank(comm);
    std::vector<float> data(100'000, 1.0F);
    tutti_work_t work = nullptr;
    tutti_options options = TUTTI_OPTIONS_INIT;
    options.work = &work;
    options.prescale = 0.5;
    ASSERT_EQ(tutti_allreduce(data.data(), data.data(), data.size(), TUTTI_FLOAT32, TUTTI_SUM, comm, &options),
              TUTTI_OK);
    ASSERT_NE(work, nullptr);
    EXPECT_EQ(tutti_work_wait(work), TUTTI_OK);
    EXPECT_EQ(tutti_work_ready(work), 1);
    tutti_work_free(work);
    EXPECT_EQ(data.back(), 1.0F);

    struct Exchange {
      tutti_comm_t comm;
      int mine;
      int theirs;
    } exchange{comm, rank + 5, 0};
    const auto body = [](void* argument) {
      auto* e = static_cast<Exchange*>(argument);
      const int peer = 1 - tutti_comm_rank(e->comm);
      const tutti_status sent = tutti_send(&e->mine, 1, TUTTI_INT32, peer, e->comm, nullptr);
      return sent != TUTTI_OK ? sent : tutti_recv(&e->theirs, 1, TUTTI_INT32, peer, e->comm, nullptr);
    };
    EXPECT_EQ(tutti_group(comm, body, &exchange), TUTTI_OK) << tutti_last_error();
    EXPECT_EQ(exchange.theirs, 6 - rank);

    const auto failing = [](void*) { return TUTTI_INVALID_USAGE; };
    EXPECT_EQ(tutti_group(comm, failing, nullptr), TUTTI_INVALID_USAGE);
    EXPECT_EQ(tutti_barrier(comm, nullptr), TUTTI_OK);
  });
}

TEST(CApi, SplitsAndDuplicates) {
  as_ranks(3, [](tutti_comm_t comm) {
    const int rank = tutti_comm_rank(comm);
    tutti_comm_t child = nullptr;
    ASSERT_EQ(tutti_comm_split(comm, rank == 1 ? -1 : 0, -rank, &child), TUTTI_OK);
    if (rank == 1) {
      EXPECT_EQ(child, nullptr);
    } else {
      EXPECT_EQ(tutti_comm_size(child), 2);
      EXPECT_EQ(tutti_comm_rank(child), rank == 2 ? 0 : 1);
    }
    tutti_comm_free(child);
    ASSERT_EQ(tutti_comm_duplicate(comm, &child), TUTTI_OK);
    EXPECT_EQ(tutti_comm_rank(child), rank);
    tutti_comm_free(child);
  });
}

TEST(CApi, ErrorsAreCodesWithASentence) {
  as_ranks(1, [](tutti_comm_t comm) {
    float value = 1;
    EXPECT_EQ(tutti_allreduce(nullptr, &value, 1, TUTTI_FLOAT32, TUTTI_SUM, comm, nullptr), TUTTI_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(tutti_last_error(), "input is null"), nullptr) << tutti_last_error();
    EXPECT_EQ(tutti_broadcast(&value, &value, 1, TUTTI_FLOAT32, 7, comm, nullptr), TUTTI_INVALID_ARGUMENT);
    EXPECT_NE(std::strstr(tutti_last_error(), "root 7"), nullptr) << tutti_last_error();
    EXPECT_EQ(tutti_allreduce(&value, &value, 1, static_cast<tutti_data_type>(15), TUTTI_SUM, comm, nullptr),
              TUTTI_INVALID_ARGUMENT);
    EXPECT_EQ(tutti_allreduce(&value, &value, 1, TUTTI_FLOAT32, static_cast<tutti_reduction>(15), comm, nullptr),
              TUTTI_INVALID_ARGUMENT);
    EXPECT_EQ(tutti_allreduce(&value, &value, 1, TUTTI_FLOAT32, TUTTI_BIT_AND, comm, nullptr), TUTTI_INVALID_ARGUMENT);
    EXPECT_EQ(tutti_barrier(nullptr, nullptr), TUTTI_INVALID_ARGUMENT);
    tutti_comm_abort(comm);
    EXPECT_EQ(tutti_barrier(comm, nullptr), TUTTI_ABORTED);
  });
  tutti_comm_t comm = nullptr;
  EXPECT_EQ(tutti_local_group(0, nullptr, &comm), TUTTI_INVALID_ARGUMENT);
  EXPECT_EQ(tutti_local_group(1, "no such backend", &comm), TUTTI_CONFIG);
  EXPECT_EQ(tutti_local_group(1, "no_such_backend", &comm), TUTTI_BACKEND_UNAVAILABLE);
  EXPECT_NE(std::strstr(tutti_last_error(), "native"), nullptr) << tutti_last_error();
  EXPECT_STREQ(tutti_status_name(TUTTI_PEER_FAILURE), "peer_failure");
  EXPECT_STRNE(tutti_version(), "");
}

}  // namespace
