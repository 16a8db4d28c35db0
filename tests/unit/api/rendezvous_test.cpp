#include "tutti/rendezvous.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <functional>
#include <string>
#include <thread>

#include "store/local_store.hpp"
#include "support/refusals.hpp"
#include "tutti/communicator.hpp"
#include "tutti/error.hpp"

namespace tutti {
namespace {

using namespace std::chrono_literals;

class RendezvousTest : public testing::TestWithParam<int> {
 protected:
  // If a test hangs, the alarm ends the process.
  void SetUp() override { ::alarm(150); }
  void TearDown() override { ::alarm(0); }
};

void on_every_rank(const std::vector<Rendezvous>& ranks, const std::function<void(const Rendezvous&)>& body) {
  std::vector<std::thread> threads;
  for (const Rendezvous& rank : ranks) threads.emplace_back([&] { body(rank); });
  for (std::thread& thread : threads) thread.join();
}

TEST_P(RendezvousTest, AllgatherGivesEverybodyEverything) {
  on_every_rank(local_rendezvous(GetParam()), [](const Rendezvous& me) {
    for (int round = 0; round < 20; ++round) {
      const std::string tag = std::to_string(round) + "/";
      const std::vector<std::string> all = me.allgather("again", tag + std::to_string(me.rank()));
      ASSERT_EQ(all.size(), static_cast<std::size_t>(me.size()));
      for (int rank = 0; rank < me.size(); ++rank) {
        EXPECT_EQ(all[static_cast<std::size_t>(rank)], tag + std::to_string(rank));
      }
    }
  });
}

TEST_P(RendezvousTest, BroadcastFromEveryRoot) {
  on_every_rank(local_rendezvous(GetParam()), [](const Rendezvous& me) {
    for (int root = 0; root < me.size(); ++root) {
      EXPECT_EQ(me.broadcast("b", "from " + std::to_string(me.rank()), root), "from " + std::to_string(root));
    }
  });
}

TEST_P(RendezvousTest, NobodyLeavesABarrierBeforeAllHaveCome) {
  std::atomic<int> came = 0;
  on_every_rank(local_rendezvous(GetParam()), [&](const Rendezvous& me) {
    for (int round = 1; round <= 20; ++round) {
      ++came;
      me.barrier("step");
      EXPECT_GE(came.load(), round * me.size());
      me.barrier("step");
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, RendezvousTest, testing::Values(1, 2, 3, 4, 7));

TEST_F(RendezvousTest, CopiesShareTheCountOfUses) {
  const std::vector<Rendezvous> ranks = local_rendezvous(2);
  on_every_rank(ranks, [](const Rendezvous& me) {
    const Rendezvous copy = me;
    for (int round = 0; round < 5; ++round) {
      EXPECT_EQ(copy.broadcast("x", std::to_string(round), 0), std::to_string(round));
      EXPECT_EQ(me.broadcast("x", "again", 1), "again");
    }
  });
}

TEST_F(RendezvousTest, PutAndGetAreScoped) {
  const std::shared_ptr<Store> store = make_local_store();
  const Rendezvous one(0, 1, store, "a", 10ms);
  const Rendezvous other(0, 1, store, "a/p", 10ms);
  one.put("p/k", "1");
  EXPECT_EQ(one.get("p/k"), "1");
  (void)test::error_of([&] { (void)other.get("k"); }, ErrorCode::timeout);
  EXPECT_EQ(other.find("k"), std::nullopt);
  other.put("k", "2");
  EXPECT_EQ(other.get("k"), "2");
  EXPECT_EQ(other.find("k"), "2");
}

TEST_F(RendezvousTest, TimeoutNamesThoseWhoDidNotCome) {
  const std::shared_ptr<Store> store = make_local_store();
  const auto make = [&](int rank, std::string scope) { return Rendezvous(rank, 4, store, std::move(scope), 50ms); };
  // Rank 1 is the first to arrive; it times out, but the next rank sees that it was there.
  EXPECT_EQ(test::error_of([&] { (void)make(1, "a").allgather("split", ""); }, ErrorCode::timeout),
            "rank 0, 2 and 3 of 4 did not reach 'split' within 50 ms");
  EXPECT_EQ(test::error_of([&] { (void)make(0, "a").allgather("split", ""); }, ErrorCode::timeout),
            "rank 2 and 3 of 4 did not reach 'split' within 50 ms");
  EXPECT_EQ(test::error_of([&] { (void)make(2, "a").allgather("split", ""); }, ErrorCode::timeout),
            "rank 3 of 4 did not reach 'split' within 50 ms");
  EXPECT_EQ(test::error_of([&] { (void)make(2, "b").broadcast("b", "", 3); }, ErrorCode::timeout),
            "rank 3 of 4 did not reach 'b' within 50 ms");
  EXPECT_EQ(test::error_of([&] { make(3, "c").barrier("b"); }, ErrorCode::timeout),
            "rank 0, 1 and 2 of 4 did not reach 'b' within 50 ms");
  EXPECT_EQ(test::error_of([&] { make(0, "c").barrier("b"); }, ErrorCode::timeout),
            "rank 1 and 2 of 4 did not reach 'b' within 50 ms");
}

TEST_F(RendezvousTest, ManyAbsentRanksDoNotMakeALongMessage) {
  const Rendezvous lonely(0, 1000, make_local_store(), {}, 10ms);
  EXPECT_EQ(
      test::error_of([&] { lonely.barrier("b"); }, ErrorCode::timeout),
      "rank 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 and 983 more of 1000 did not reach 'b' within 10 ms");
}

TEST_F(RendezvousTest, ThreadThatFailsEndsTheWaitsOfTheOthers) {
  const std::vector<Rendezvous> ranks = local_rendezvous(3);
  const Rendezvous zero = ranks[0].attempt();
  std::string error;
  std::thread waiting(
      [&] { error = test::error_of([&] { (void)zero.allgather("hello", ""); }, ErrorCode::peer_failure); });
  ranks[2].attempt().fail("no memory");
  waiting.join();
  EXPECT_EQ(error, "rank 2 of the job failed: no memory while the ranks met for 'hello'");
}

TEST_F(RendezvousTest, SubsetsOfTheSameNameDoNotMeet) {
  on_every_rank(local_rendezvous(4), [](const Rendezvous& me) {
    const std::array<int, 2> even = {2, 0};
    const std::array<int, 2> odd = {1, 3};
    for (int round = 0; round < 3; ++round) {
      const Rendezvous half = me.subset(me.rank() % 2 == 0 ? even : odd, "half");
      EXPECT_EQ(half.size(), 2);
      const std::vector<std::string> all = half.allgather("who", std::to_string(me.rank()));
      EXPECT_EQ(all, me.rank() % 2 == 0 ? (std::vector<std::string>{"2", "0"}) : (std::vector<std::string>{"1", "3"}));
      const std::array<int, 1> alone = {half.rank()};
      const Rendezvous self = half.subset(alone, "self");
      self.barrier("b");
      self.put("mine", std::to_string(me.rank()));
      EXPECT_EQ(self.get("mine"), std::to_string(me.rank()));
    }
    me.barrier("end");
  });
}

TEST_F(RendezvousTest, KeysStayShortHoweverDeepTheNesting) {
  Rendezvous nested = local_rendezvous(1).front();
  const std::array<int, 1> all = {0};
  for (int depth = 0; depth < 1000; ++depth) nested = nested.subset(all, "deeper");
  EXPECT_EQ(nested.allgather("x", "v"), std::vector<std::string>{"v"});
}

TEST_F(RendezvousTest, BadArguments) {
  const std::shared_ptr<Store> store = make_local_store();
  for (const auto& [rank, size] : {std::pair(-1, 2), std::pair(2, 2), std::pair(0, 0), std::pair(0, -1)}) {
    EXPECT_EQ(test::error_of([&, r = rank, n = size] { Rendezvous(r, n, store); }, ErrorCode::invalid_argument),
              "rank " + std::to_string(rank) + " of " + std::to_string(size) +
                  " is out of range; accepted: 0 <= rank < size");
  }
  (void)test::error_of([] { Rendezvous(0, 1, nullptr); }, ErrorCode::invalid_argument);
  (void)test::error_of([] { (void)local_rendezvous(0); }, ErrorCode::invalid_argument);
  const Rendezvous me(1, 3, store, {}, 10ms);
  (void)test::error_of([&] { (void)me.broadcast("x", "", 3); }, ErrorCode::invalid_argument);
  (void)test::error_of([&] { (void)me.broadcast("x", "", -1); }, ErrorCode::invalid_argument);
  for (const std::vector<int>& members : {std::vector<int>{}, {0, 2}, {1, 1}, {1, 3}, {-1, 1}}) {
    (void)test::error_of([&] { (void)me.subset(members, "s"); }, ErrorCode::invalid_argument);
  }
}

TEST_F(RendezvousTest, LocalStoreKeepsTheContract) {
  const std::shared_ptr<Store> store = make_local_store();
  EXPECT_EQ(test::error_of([&] { (void)store->get("k", 20ms); }, ErrorCode::timeout),
            "the key 'k' did not appear in the job's store within 20 ms");
  std::thread later([&] {
    std::this_thread::sleep_for(20ms);
    store->put("k", std::string("a\0b", 3));
  });
  EXPECT_EQ(store->get("k", 30s), std::string("a\0b", 3));
  later.join();
  EXPECT_EQ(store->get("k", 0s), std::string("a\0b", 3));
  EXPECT_EQ(test::error_of([&] { store->put("k", "2"); }, ErrorCode::invalid_usage),
            "the key 'k' is in the job's store already");
  store->put("twice", "v", 2);
  EXPECT_EQ(store->get("twice", 30s), "v");
  EXPECT_EQ(store->get("twice", 0s), "v") << "get() without waiting must not count as one of the two reads";
  EXPECT_EQ(store->get("twice", 30s), "v");
  (void)test::error_of([&] { (void)store->get("twice", 0s); }, ErrorCode::timeout);
  (void)test::error_of([&] { store->put("", "2"); }, ErrorCode::invalid_argument);
  (void)test::error_of([&] { store->put(std::string(4097, 'k'), "2"); }, ErrorCode::invalid_argument);
  (void)test::error_of([&] { store->put("l", std::string((16 << 20) + 1, 'v')); }, ErrorCode::invalid_argument);
}

// A job may create communicators for as long as it runs, so keys that all members have read must leave the store.
TEST_F(RendezvousTest, WhatTheMembersHaveReadDoesNotStay) {
  constexpr int kRanks = 3;
  const StoreServer server("unix:tutti-test-" + std::to_string(::getpid()), "");
  std::vector<Rendezvous> ranks;
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks.emplace_back(rank, kRanks, connect_store(server.address(), "", 20s), "job", 50s);
  }
  std::size_t early = 0;
  std::barrier<> turn(kRanks);  // no rank may create a communicator while rank 0 reads the size of the store
  on_every_rank(ranks, [&](const Rendezvous& me) {
    const Communicator comm(me, {.config = Config().set("TUTTI_BACKEND", "native")});
    for (int i = 0; i < 200; ++i) {
      const Communicator same = comm.duplicate();
      const Communicator part = comm.split(comm.rank() == 1 ? -1 : 0);
      const Communicator alone = comm.split(comm.rank());
      if (i > 0) continue;
      turn.arrive_and_wait();
      if (comm.rank() == 0) early = server.size();
      turn.arrive_and_wait();
    }
  });
  EXPECT_EQ(server.size(), early);
}

}  // namespace
}  // namespace tutti
