// The native engine's collectives between thread ranks, against a serial reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "native_case.hpp"
#include "native_ranks.hpp"

namespace tutti::test {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kEffort = 1;
#else
constexpr int kEffort = 3;
#endif

constexpr std::array kCollectives = {
    OpKind::allreduce, OpKind::allgather, OpKind::allgatherv, OpKind::reduce_scatter, OpKind::reduce_scatterv,
    OpKind::broadcast, OpKind::reduce,    OpKind::gather,     OpKind::gatherv,        OpKind::scatter,
    OpKind::scatterv,  OpKind::alltoall,  OpKind::alltoallv,  OpKind::barrier};

// Mostly small counts, sometimes counts that fill several rings.
std::uint64_t random_count(Random& random) {
  constexpr std::array<std::uint64_t, 6> limits = {1, 12, 200, 3000, 40000, 300000};
  return random.below(limits[random.below(limits.size())] + 1);
}

CaseKey random_key(Random& random) {
  const std::uint64_t seed = random();
  const OpKind kind = kCollectives[random.below(kCollectives.size())];
  const DataType type = kDataTypes[random.below(kDataTypes.size())];
  return {seed, kind, type, random_count(random)};
}

// Parameters: number of ranks, and whether the ranks access each other's buffers directly, as threads can. Otherwise
// the data goes through the segment, as between processes.
class NativeCollectives : public testing::TestWithParam<std::tuple<int, bool>> {
 protected:
  static std::vector<std::string> run(const NativeBody& body) {
    const auto [ranks, direct] = GetParam();
    return run_native(ranks, body, native_config().set("TUTTI_NATIVE_DIRECT", direct ? "1" : "0"));
  }
};

TEST_P(NativeCollectives, RandomSequenceMatchesTheReference) {
  EXPECT_NO_RANK_ERRORS(run([](NativeRank& rank) {
    Random random(static_cast<std::uint64_t>(rank.size));
    for (int i = 0; i < 60 * kEffort; ++i) {
      NativeCase one(random_key(random), rank.rank, rank.size);
      rank.run(one.operation());
      one.check();
    }
  }));
}

TEST_P(NativeCollectives, EveryKindAtEverySizeClass) {
  EXPECT_NO_RANK_ERRORS(run([](NativeRank& rank) {
    std::uint64_t seed = 1;
    for (const OpKind kind : kCollectives) {
      for (const std::uint64_t count : {0U, 1U, 10U, 11U, 1021U, 4096U, 70001U}) {
        NativeCase one({++seed, kind, DataType::float32, count}, rank.rank, rank.size);
        rank.run(one.operation());
        one.check();
      }
    }
  }));
}

TEST_P(NativeCollectives, SeveralInFlightCompleteInAnyOrderOfWaiting) {
  EXPECT_NO_RANK_ERRORS(run([](NativeRank& rank) {
    Random random(7);
    for (int round = 0; round < 5 * kEffort; ++round) {
      std::vector<std::unique_ptr<NativeCase>> cases;
      std::vector<std::unique_ptr<spi::PendingOperation>> pending;
      for (int i = 0; i < 4; ++i) {
        cases.push_back(std::make_unique<NativeCase>(random_key(random), rank.rank, rank.size));
        pending.push_back(rank.start(cases.back()->operation()));
      }
      NativeCase blocking(random_key(random), rank.rank, rank.size);
      rank.run(blocking.operation());  // after all pending operations
      blocking.check();
      for (std::size_t i = 0; i < pending.size(); ++i) {
        const std::size_t pick = (i * 3 + static_cast<std::size_t>(rank.rank)) % pending.size();
        if (rank.rank % 2 == 0)
          require(pending[pick]->wait(spi::Deadline::max()), "waits to the end");
        else
          while (!pending[pick]->poll()) std::this_thread::yield();
        cases[pick]->check();
        pending[pick] = rank.start(native_operation<int>(OpKind::barrier, nullptr, nullptr, 0));
      }
      for (const auto& barrier : pending) require(barrier->wait(spi::Deadline::max()), "barrier");
    }
  }));
}

INSTANTIATE_TEST_SUITE_P(Ranks, NativeCollectives, testing::Combine(testing::Values(1, 2, 3, 4, 7), testing::Bool()),
                         [](const auto& row) {
                           return std::to_string(std::get<0>(row.param)) +
                                  (std::get<1>(row.param) ? "direct" : "rings");
                         });

// Equal inputs in calls of different length and offset must give equal bits.
TEST(NativeReproducibility, BitsDependOnNeitherSizeNorPlacement) {
  constexpr std::uint64_t kLong = 200000;
  EXPECT_NO_RANK_ERRORS(run_native(3, [](NativeRank& rank) {
    std::vector<float> input(kLong);
    for (std::uint64_t i = 0; i < kLong; ++i)
      input[i] = element<float>({5, DataType::float32, Values::real}, rank.rank, i);
    std::vector<float> whole(kLong);
    rank.run(native_operation(OpKind::allreduce, input.data(), whole.data(), kLong));
    for (const std::uint64_t length : {1U, 9U, 500U, 5000U, 60001U}) {
      for (std::uint64_t at : {std::uint64_t{0}, std::uint64_t{777}, kLong - length}) {
        std::vector<float> part(input.begin() + static_cast<std::ptrdiff_t>(at),
                                input.begin() + static_cast<std::ptrdiff_t>(at + length));
        rank.run(native_operation(OpKind::allreduce, part.data(), part.data(), length));
        require(std::memcmp(part.data(), whole.data() + at, length * sizeof(float)) == 0,
                "same bits for " + std::to_string(length) + " elements at " + std::to_string(at));
      }
    }
  }));
}

// Enough data that the writers try both cached and streaming stores; see WriteChoice.
TEST(NativeSlots, AreRightWhicheverWayTheyAreWritten) {
  constexpr std::size_t kCount = 100'003;
  constexpr int kCalls = 40;
  const auto config = native_config().set("TUTTI_NATIVE_DIRECT", "0");
  const auto body = [](NativeRank& rank) {
    std::vector<float> mine(kCount);
    std::vector<float> sum(kCount);
    std::vector<float> expected(kCount);
    std::vector<float> all(2 * kCount);
    for (int i = 0; i < kCalls; ++i) {
      for (std::size_t k = 0; k < kCount; ++k) {
        mine[k] = static_cast<float>(k % 1000 + static_cast<std::size_t>(i + rank.rank));
        expected[k] = static_cast<float>(2 * (k % 1000 + static_cast<std::size_t>(i)) + 1);
      }
      rank.run(native_operation(OpKind::allgather, mine.data(), all.data(), kCount));
      for (std::size_t r = 0; r < 2; ++r) {
        // Every element of the other rank differs by one.
        const float more = static_cast<float>(r) - static_cast<float>(rank.rank);
        const bool is_right = std::ranges::equal(mine, std::span(all).subspan(r * kCount, kCount), {},
                                                 [&](float value) { return value + more; });
        require(is_right, "allgather " + std::to_string(i) + " of rank " + std::to_string(r));
      }
      float* const result = i % 2 == 0 ? sum.data() : mine.data();
      rank.run(native_operation(OpKind::allreduce, mine.data(), result, kCount));
      require(std::memcmp(result, expected.data(), kCount * sizeof(float)) == 0, "allreduce " + std::to_string(i));
    }
  };
  EXPECT_NO_RANK_ERRORS(run_native(2, body, config));
}

TEST(NativeMailbox, ReuseOverManyIterations) {
  EXPECT_NO_RANK_ERRORS(run_native(3, [](NativeRank& rank) {
    for (int i = 0; i < 20000 * kEffort; ++i) {
      const int root = i % 7 < 4 ? 0 : i % 3;  // often the same root several times in a row
      std::int64_t value = rank.rank == root ? i : -1;
      if (i % 5 != 0) {  // the root of a broadcast does not wait and runs ahead
        rank.run(native_operation(OpKind::broadcast, &value, &value, 1, root));
        require(value == i, "broadcast " + std::to_string(i) + " gave " + std::to_string(value));
        continue;
      }
      std::int64_t mine = i + rank.rank;
      std::int64_t sum = 0;
      rank.run(native_operation(OpKind::allreduce, &mine, &sum, 1));
      require(sum == 3 * std::int64_t{i} + 3, "allreduce " + std::to_string(i) + " gave " + std::to_string(sum));
    }
  }));
}

TEST(NativeMessages, PingPongAndStreamsKeepTheirOrder) {
  EXPECT_NO_RANK_ERRORS(run_native(2, [](NativeRank& rank) {
    const int peer = 1 - rank.rank;
    for (std::uint64_t i = 0; i < 300U * kEffort; ++i) {
      const std::uint64_t count = i % 17 == 0 ? 50000 : i % 30;
      std::vector<std::uint64_t> out(count, i);
      std::vector<std::uint64_t> in(count);
      if (rank.rank == 0) rank.run(native_operation<std::uint64_t>(OpKind::send, out.data(), nullptr, count, peer));
      rank.run(native_operation<std::uint64_t>(OpKind::recv, nullptr, in.data(), count, peer));
      if (rank.rank == 1) rank.run(native_operation<std::uint64_t>(OpKind::send, out.data(), nullptr, count, peer));
      require(in == out, "message " + std::to_string(i));
    }
  }));
}

TEST(NativeMessages, GroupedExchangeWithEverybodyCannotDeadlock) {
  static constexpr std::uint64_t kCount = 200000;  // much more than the rings hold
  EXPECT_NO_RANK_ERRORS(run_native(4, [](NativeRank& rank) {
    std::vector<std::vector<int>> in(4, std::vector<int>(kCount));
    std::vector<std::vector<int>> out;
    std::vector<Operation> group;
    for (int peer = 0; peer < 4; ++peer) out.emplace_back(kCount, 10 * rank.rank + peer);
    for (int peer = 0; peer < 4; ++peer) {  // including the rank itself
      const auto index = static_cast<std::size_t>(peer);
      group.push_back(native_operation<int>(OpKind::send, out[index].data(), nullptr, kCount, peer));
      group.push_back(native_operation<int>(OpKind::recv, nullptr, in[index].data(), kCount, peer));
    }
    rank.communicator.run_group(group);
    for (int peer = 0; peer < 4; ++peer) {
      require(in[static_cast<std::size_t>(peer)] == std::vector<int>(kCount, 10 * peer + rank.rank), "exchange");
    }
  }));
}

TEST(NativeMessages, ProgressWhileACollectiveWaits) {
  EXPECT_NO_RANK_ERRORS(run_native(3, [](NativeRank& rank) {
    constexpr std::uint64_t kCount = 300000;
    std::vector<double> data(kCount, rank.rank);
    // Rank 1 enters the barrier after it has received all data, so rank 0 must send from within the barrier.
    if (rank.rank == 0) {
      const auto send = rank.start(native_operation<double>(OpKind::send, data.data(), nullptr, kCount, 1));
      rank.run(native_operation<int>(OpKind::barrier, nullptr, nullptr, 0));
      require(send->wait(spi::Deadline::max()), "send");
      return;
    }
    if (rank.rank == 1) {
      rank.run(native_operation<double>(OpKind::recv, nullptr, data.data(), kCount, 0));
      require(data == std::vector<double>(kCount, 0), "received");
    }
    rank.run(native_operation<int>(OpKind::barrier, nullptr, nullptr, 0));
  }));
}

TEST(NativeEngine, TwoCommunicatorsAtOnce) {
  const std::vector<Rendezvous> second = local_rendezvous(3);
  EXPECT_NO_RANK_ERRORS(run_native(3, [&](NativeRank& rank) {
    const Config config = native_config();
    const spi::Peers peers = native_peers(rank.rank, rank.size, true);
    const auto other = tutti_backend_native_module()->create(
        {.config = config, .rendezvous = second[static_cast<std::size_t>(rank.rank)], .peers = peers});
    Random random(3);
    for (int i = 0; i < 20 * kEffort; ++i) {
      NativeCase first(random_key(random), rank.rank, rank.size);
      NativeCase between(random_key(random), rank.rank, rank.size);
      const auto pending = rank.start(first.operation());
      other->run(between.operation());
      between.check();
      require(pending->wait(spi::Deadline::max()), "first");
      first.check();
    }
  }));
}

TEST(NativeEngine, ManyRanksOnFewCores) {
  EXPECT_NO_RANK_ERRORS(run_native(16, [](NativeRank& rank) {
    Random random(16);
    for (int i = 0; i < 10 * kEffort; ++i) {
      NativeCase one(random_key(random), rank.rank, rank.size);
      rank.run(one.operation());
      one.check();
    }
    for (int i = 0; i < 200 * kEffort; ++i) rank.run(native_operation<int>(OpKind::barrier, nullptr, nullptr, 0));
  }));
}

TEST(NativeEngine, MoreThan64Ranks) {
  EXPECT_NO_RANK_ERRORS(run_native(70, [](NativeRank& rank) {
    for (const std::uint64_t count : {1U, 20000U}) {
      std::vector<std::int32_t> data(count, rank.rank);
      rank.run(native_operation(OpKind::allreduce, data.data(), data.data(), count));
      require(data == std::vector<std::int32_t>(count, 70 * 69 / 2), "sum of " + std::to_string(count));
    }
  }));
}

TEST(NativeEngine, SmallestSegmentWorksToo) {
  const Config config = native_config().set("TUTTI_NATIVE_SEGMENT_BYTES", "4K");
  const auto body = [](NativeRank& rank) {
    for (const OpKind kind : kCollectives) {
      NativeCase one({9, kind, DataType::bfloat16, 9001}, rank.rank, rank.size);
      rank.run(one.operation());
      one.check();
    }
  };
  EXPECT_NO_RANK_ERRORS(run_native(5, body, config));
}

}  // namespace
}  // namespace tutti::test
