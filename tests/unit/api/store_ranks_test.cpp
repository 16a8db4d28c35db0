// The ranks of a job in its store: places of ranks, ranks that leave, ranks that are lost.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "store_fixture.hpp"
#include "tutti/error.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti {
namespace {

using namespace std::chrono_literals;

/// A pipe by which one process tells another that it is ready, or that it may go on.
class Signal {
 public:
  Signal() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~Signal() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  void give() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void await() const {
    char byte = 0;
    EXPECT_EQ(::read(ends_[0], &byte, 1), 1);
  }

 private:
  std::array<int, 2> ends_{};
};

class StoreRanksTest : public StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    (void)store_address();
  }

  /// The same in the processes that the test starts.
  static const std::string& store_address() {
    static const std::string address = unix_address();
    return address;
  }

  static std::shared_ptr<Store> connect(int rank, int size, const std::string& job = {}) {
    return connect_store(store_address(), kSecret, 20s, {.rank = rank, .size = size, .job_id = job});
  }

  /// A process that connects as the rank and stays until it is killed.
  static pid_t start_rank(int rank, int size, const Signal& ready) {
    return start_process([&ready, rank, size] {
      const std::shared_ptr<Store> store = connect(rank, size);
      ready.give();
      ::pause();
      return 0;
    });
  }

  static void kill_rank(pid_t process) {
    ::kill(process, SIGKILL);
    EXPECT_EQ(exit_code(process), 128 + SIGKILL);
  }

  /// Polls until ranks are lost; a test that waits for ever ends by its alarm.
  template <typename Source>
  static std::vector<int> await_lost(Source& source, std::size_t count = 1) {
    std::vector<int> lost;
    while ((lost = source.lost()).size() < count) std::this_thread::sleep_for(1ms);
    std::sort(lost.begin(), lost.end());
    return lost;
  }
};

TEST_F(StoreRanksTest, PlaceOfARankIsTakenOnce) {
  const StoreServer server(store_address(), kSecret);
  const Signal ready;
  const pid_t first = start_rank(2, 4, ready);
  ready.await();
  const std::string taken = test::error_of([] { (void)connect(2, 4); }, ErrorCode::invalid_argument);
  EXPECT_NE(taken.find("rank 2 of the job is pid " + std::to_string(first) + " on "), std::string::npos) << taken;
  EXPECT_NE(taken.find("pid " + std::to_string(::getpid()) + " on "), std::string::npos) << taken;
  EXPECT_TRUE(taken.ends_with("give each job its own MASTER_PORT, TUTTI_JOB_ID or TUTTI_JOB_SECRET")) << taken;
  // Threads of a process are different ranks, and a process may connect several times.
  const std::shared_ptr<Store> one = connect(1, 4);
  const std::shared_ptr<Store> again = connect(1, 4);
  const std::shared_ptr<Store> three = connect(3, 4);
  one->put("k", "v");
  EXPECT_EQ(three->get("k", 10s), "v");
  EXPECT_EQ(one->lost(), std::vector<int>()) << "a refused process is not a rank, so its end is no loss";
  kill_rank(first);
  EXPECT_EQ(await_lost(*one), std::vector<int>{2});
  EXPECT_EQ(await_lost(*three), std::vector<int>{2});
  const std::string late = test::error_of([] { (void)connect(2, 4); }, ErrorCode::invalid_argument);
  EXPECT_NE(late.find("rank 2 of the job (pid " + std::to_string(first) + " on "), std::string::npos) << late;
}

TEST_F(StoreRanksTest, OtherJobsAndSizesAreRefused) {
  const StoreServer server(store_address(), kSecret, {.id = "one"});
  const std::shared_ptr<Store> zero = connect(0, 3, "one");
  EXPECT_NE(test::error_of([] { (void)connect(1, 4, "one"); }, ErrorCode::invalid_argument)
                .find("its job has 3 ranks, and this process (rank 1, pid " + std::to_string(::getpid()) + " on "),
            std::string::npos);
  EXPECT_NE(test::error_of([] { (void)connect(1, 3, "two"); }, ErrorCode::invalid_argument)
                .find("it serves job one, and this process (pid " + std::to_string(::getpid()) + " on "),
            std::string::npos);
  (void)test::error_of([] { (void)connect(1, 3); }, ErrorCode::invalid_argument);
  (void)test::error_of([] { (void)connect(3, 3, "one"); }, ErrorCode::invalid_argument);
  EXPECT_NO_THROW((void)connect(1, 3, "one"));
  EXPECT_NO_THROW((void)connect_store(store_address(), kSecret, 20s)) << "a client that is no rank belongs to no job";
  const StoreServer sized(store_address() + "-sized", kSecret, {.id = std::string(1000, 'i'), .size = 2});
  const auto to_sized = [&](int size, const std::string& job) {
    return connect_store(sized.address(), kSecret, 20s, {.rank = 0, .size = size, .job_id = job});
  };
  (void)test::error_of([&] { (void)to_sized(3, std::string(1000, 'i')); }, ErrorCode::invalid_argument);
  (void)test::error_of([&] { (void)to_sized(2, std::string(999, 'i')); }, ErrorCode::invalid_argument);
  EXPECT_NO_THROW((void)to_sized(2, std::string(1000, 'i')));
}

// Each rank may run several programs one after the other, and need not wait for the others in between.
TEST_F(StoreRanksTest, ProcessMayFollowOneThatHasLeft) {
  const StoreServer server(store_address(), kSecret);
  for (int program = 0; program < 5; ++program) {
    std::vector<pid_t> ranks;
    for (int rank = 0; rank < 3; ++rank) {
      ranks.push_back(start_process([rank] {
        for (int step = 0; step < 2; ++step) {
          const pid_t child = start_process([rank] {
            const Rendezvous me(rank, 3, connect(rank, 3), "world0", 20s);
            me.barrier("created");
            return 0;
          });
          if (exit_code(child) != 0) return 1;
        }
        return 0;
      }));
    }
    for (const pid_t rank : ranks) EXPECT_EQ(exit_code(rank), 0) << program;
  }
  EXPECT_EQ(connect(0, 3)->lost(), std::vector<int>());
}

// A rank that goes on to the next program must not read, and use up, keys that a slower rank still needs.
TEST_F(StoreRanksTest, NextProgramHasKeysOfItsOwn) {
  const StoreServer server(store_address(), kSecret);
  std::shared_ptr<Store> zero = connect(0, 2);
  std::shared_ptr<Store> one = connect(1, 2);
  zero->put("k", "first", 1);
  one->leave();
  one = connect(1, 2);
  (void)test::error_of([&] { (void)one->get("k", 0s); }, ErrorCode::timeout);
  EXPECT_EQ(zero->get("k", 20s), "first");
  zero->leave();
  zero = connect(0, 2);
  zero->put("k", "second", 1);
  EXPECT_EQ(one->get("k", 20s), "second");
}

TEST_F(StoreRanksTest, RankThatLeavesIsNotLost) {
  const StoreServer server(store_address(), kSecret);
  const std::shared_ptr<Store> zero = connect(0, 3);
  const Signal ready;
  const pid_t second = start_rank(2, 3, ready);
  connect(1, 3)->put("k", "v");  // leaves at once
  ready.await();
  kill_rank(second);
  EXPECT_EQ(await_lost(*zero), std::vector<int>{2}) << "rank 1 ended before, so it would have been lost first";
  const std::shared_ptr<Store> one = connect(1, 3);
  EXPECT_EQ(await_lost(*one), std::vector<int>{2}) << "a rank that comes later is told, too";
  one->leave();
  (void)test::error_of([&] { one->put("l", "v"); }, ErrorCode::invalid_usage);
  one->leave();
  EXPECT_EQ(one->lost(), std::vector<int>{2});
}

TEST_F(StoreRanksTest, LossOfARankEndsTheWaitsForIt) {
  const StoreServer server(store_address(), kSecret);
  const Signal ready;
  const pid_t victim = start_rank(2, 3, ready);
  ready.await();
  std::vector<std::string> errors(4);
  std::vector<std::thread> waiting;
  const auto wait = [&](std::size_t slot, int rank, const std::function<void(const Rendezvous&)>& body) {
    waiting.emplace_back([&errors, slot, rank, body] {
      const Rendezvous me(rank, 3, connect(rank, 3), "s" + std::to_string(slot), 60s);
      errors[slot] = test::error_of([&] { body(me); }, ErrorCode::peer_failure);
    });
  };
  wait(0, 0, [](const Rendezvous& me) { (void)me.allgather("hello", ""); });
  wait(1, 1, [](const Rendezvous& me) { me.barrier("b"); });
  wait(2, 1, [](const Rendezvous& me) { (void)me.broadcast("c", "", 2); });
  wait(3, 0, [](const Rendezvous& me) { (void)me.get("k"); });
  while (server.size() < 2) std::this_thread::sleep_for(1ms);  // the keys of allgather and barrier
  const auto start = std::chrono::steady_clock::now();
  kill_rank(victim);
  for (std::thread& thread : waiting) thread.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, 30s) << "half of the timeout";
  for (const std::string& error : errors) {
    EXPECT_TRUE(error.starts_with("rank 2 of the job (pid " + std::to_string(victim) + " on ")) << error;
  }
  EXPECT_NE(errors[0].find("while the ranks met for 'hello'"), std::string::npos) << errors[0];
  // A wait that begins afterwards ends at once, too; a value that was there before is still got.
  const std::shared_ptr<Store> zero = connect(0, 3);
  zero->put("there", "v");
  EXPECT_EQ(zero->get("there", 60s, {}), "v");
  (void)test::error_of([&] { (void)zero->get("not there", 60s, {}); }, ErrorCode::peer_failure);
  (void)test::error_of([&] { (void)zero->get("not there", 10ms); }, ErrorCode::timeout);
}

TEST_F(StoreRanksTest, LossOfOthersDoesNotDisturbASubset) {
  const StoreServer server(store_address(), kSecret);
  const Signal ready;
  const pid_t victim = start_rank(1, 4, ready);
  ready.await();
  const std::array<int, 2> members = {3, 0};
  const Rendezvous zero = Rendezvous(0, 4, connect(0, 4), {}, 60s).subset(members, "part");
  const Rendezvous three = Rendezvous(3, 4, connect(3, 4), {}, 60s).subset(members, "part");
  std::vector<std::string> gathered;
  std::thread waiting([&] { gathered = zero.allgather("x", "0"); });
  while (server.size() < 1) std::this_thread::sleep_for(1ms);
  kill_rank(victim);
  const std::shared_ptr<Store> two = connect(2, 4);
  EXPECT_EQ(await_lost(*two), std::vector<int>{1});
  EXPECT_EQ(three.allgather("x", "3"), (std::vector<std::string>{"3", "0"}));
  waiting.join();
  EXPECT_EQ(gathered, (std::vector<std::string>{"3", "0"}));
  EXPECT_EQ(zero.lost(), std::vector<int>());
}

TEST_F(StoreRanksTest, SubsetNamesRanksOfTheJobAndCountsItsOwn) {
  const StoreServer server(store_address(), kSecret);
  const Signal ready;
  const pid_t victim = start_rank(3, 4, ready);
  ready.await();
  const std::array<int, 3> members = {1, 3, 0};
  const std::array<int, 2> inner_members = {2, 1};  // ranks 0 and 3 of the job
  const Rendezvous part = Rendezvous(0, 4, connect(0, 4), {}, 60s).subset(members, "part");
  const Rendezvous inner = part.subset(inner_members, "inner");
  kill_rank(victim);
  EXPECT_EQ(await_lost(part), std::vector<int>{1});
  EXPECT_EQ(inner.lost(), std::vector<int>{1});
  const std::string error = test::error_of([&] { inner.barrier("b"); }, ErrorCode::peer_failure);
  EXPECT_TRUE(error.starts_with("rank 3 of the job (pid " + std::to_string(victim) + " on ")) << error;
}

TEST_F(StoreRanksTest, RankThatLeavesDuringSetUpEndsTheWaitsForIt) {
  const StoreServer server(store_address(), kSecret);
  std::vector<std::string> errors(2);
  std::vector<std::thread> waiting;
  for (int rank = 0; rank < 2; ++rank) {
    waiting.emplace_back([&errors, rank] {
      const Rendezvous me(rank, 3, connect(rank, 3), {}, 60s);
      errors[static_cast<std::size_t>(rank)] = test::error_of([&] { me.barrier("created"); }, ErrorCode::peer_failure);
    });
  }
  while (server.size() < 2) std::this_thread::sleep_for(1ms);
  connect(2, 3).reset();
  for (std::thread& thread : waiting) thread.join();
  const std::string expected = "rank 2 of the job (pid " + std::to_string(::getpid()) + " on ";
  EXPECT_TRUE(errors[0].starts_with(expected)) << errors[0];
  EXPECT_TRUE(errors[1].starts_with(expected)) << errors[1];
  EXPECT_NE(errors[0].find("has left the job while the ranks met for 'created'"), std::string::npos) << errors[0];
}

TEST_F(StoreRanksTest, AnnouncedFailureEndsTheWaitsOfTheAttempt) {
  const StoreServer server(store_address(), kSecret);
  const auto make = [](int rank) { return Rendezvous(rank, 3, connect(rank, 3), "world0", 60s); };
  const Rendezvous zero = make(0);
  const Rendezvous one = make(1);
  const Rendezvous two = make(2);
  const std::array first = {zero.attempt(), one.attempt(), two.attempt()};
  const std::array second = {zero.attempt(), one.attempt(), two.attempt()};
  const std::array<int, 3> all = {2, 1, 0};
  std::string before;
  std::thread waiting(
      [&] { before = test::error_of([&] { (void)first[0].allgather("hello", ""); }, ErrorCode::peer_failure); });
  while (server.size() < 1) std::this_thread::sleep_for(1ms);
  first[2].fail("TUTTI_TIMEOUT=banana is not accepted");
  waiting.join();
  EXPECT_EQ(before.rfind("rank 2 of the job (pid " + std::to_string(::getpid()) + " on ", 0), 0U) << before;
  EXPECT_NE(before.find("failed: TUTTI_TIMEOUT=banana is not accepted while the ranks met for 'hello'"),
            std::string::npos)
      << before;
  // Rank 0 fails because of that. The one that comes later learns the cause, also in a subset.
  first[0].fail(before);
  zero.store()->leave();
  const std::string after = test::error_of([&] { (void)first[1].allgather("hello", ""); }, ErrorCode::peer_failure);
  EXPECT_EQ(after, before);
  const Rendezvous part = first[1].subset(all, "part");
  EXPECT_TRUE(test::error_of([&] { part.barrier("b"); }, ErrorCode::peer_failure).starts_with("rank 2 of the job"));
  // Other attempts go on, and values that are there are got.
  second[2].put("k", "v");
  EXPECT_EQ(second[1].get("k"), "v");
  EXPECT_EQ(second[2].broadcast("b", "w", 2), "w");
  EXPECT_EQ(second[1].broadcast("b", "", 2), "w");
  two.fail("not in an attempt");
  EXPECT_EQ(two.broadcast("b", "x", 2), "x");
  EXPECT_EQ(one.broadcast("b", "", 2), "x");
}

TEST_F(StoreRanksTest, FailureOfAnotherDoesNotEndTheWaitForAValueThatComes) {
  const StoreServer server(store_address(), kSecret);
  const auto make = [](int rank) { return Rendezvous(rank, 3, connect(rank, 3), "world0", 60s).attempt(); };
  const Rendezvous zero = make(0);
  const Rendezvous one = make(1);
  make(2).fail("done with its part");
  std::thread later([&] {
    std::this_thread::sleep_for(20ms);
    (void)zero.broadcast("b", "v", 0);
  });
  EXPECT_EQ(one.broadcast("b", "", 0), "v");
  later.join();
}

// Rank 0 may end because of a failure before the others have learnt of it, or have even come.
TEST_F(StoreRanksTest, ServerThatEndsTellsWhoFailed) {
  auto server = std::make_unique<StoreServer>(store_address(), kSecret, StoreJob{.size = 4, .is_served_by_rank = true});
  const auto member = [](int rank) { return JobMember{.rank = rank, .size = 4, .server_rank = 0}; };
  const std::shared_ptr<Store> zero = connect_store(store_address(), kSecret, 20s, member(0));
  const std::shared_ptr<Store> one = connect_store(store_address(), kSecret, 20s, member(1));
  const std::shared_ptr<Store> two = connect_store(store_address(), kSecret, 20s, member(2));
  two->fail(2, "attempt", "no memory");
  std::string late;
  std::thread comes_late([&] {
    std::this_thread::sleep_for(100ms);
    late = test::error_of(
        [&] {
          const auto three = connect_store(store_address(), kSecret, 20s, member(3));
          (void)three->get("k", 60s, {.giver = 0});
        },
        ErrorCode::peer_failure);
  });
  zero->leave();
  server.reset();
  comes_late.join();
  const std::string expected = "rank 2 of the job (pid " + std::to_string(::getpid()) + " on ";
  EXPECT_NE(late.find(expected), std::string::npos) << late;
  const std::string early = test::error_of([&] { (void)one->get("k", 60s); }, ErrorCode::peer_failure);
  EXPECT_TRUE(early.starts_with("the job's store at " + store_address() + " has ended after a failure: " + expected))
      << early;
}

// Members leave when they need the others no more, while slower ones are still in the exchange.
TEST_F(StoreRanksTest, RanksMayLeaveRightAfterAnExchange) {
  const StoreServer server(store_address(), kSecret);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::thread> ranks;
    const std::string scope = std::to_string(round);
    for (int rank = 0; rank < 4; ++rank) {
      ranks.emplace_back([rank, scope] {
        const Rendezvous me(rank, 4, connect(rank, 4), scope, 60s);
        EXPECT_EQ(me.allgather("a", "v").size(), 4U);
        EXPECT_EQ(me.broadcast("b", "w", 1), "w");
        me.barrier("c");
      });
    }
    for (std::thread& rank : ranks) rank.join();
  }
}

TEST_F(StoreRanksTest, RankThatServesTheStoreIsLostWithIt) {
  const Signal ready;
  const Signal end;
  const auto serve = [&] {
    return start_process([&ready, &end] {
      const StoreServer server(store_address(), kSecret);
      const std::shared_ptr<Store> zero = connect(0, 2);
      ready.give();
      end.await();
      return 0;
    });
  };
  const JobMember one{.rank = 1, .size = 2, .server_rank = 0};
  const pid_t killed = serve();
  ready.await();
  const std::shared_ptr<Store> store = connect_store(store_address(), kSecret, 20s, one);
  EXPECT_EQ(store->lost(), std::vector<int>());
  kill_rank(killed);
  EXPECT_EQ(await_lost(*store), std::vector<int>{0});
  EXPECT_EQ(test::error_of([&] { (void)store->get("k", 60s); }, ErrorCode::peer_failure),
            "the job's store at " + store_address() + " is gone: rank 0 of the job, which serves it, ended");

  const pid_t leaves = serve();
  ready.await();
  const std::shared_ptr<Store> other = connect_store(store_address(), kSecret, 20s, one);
  end.give();
  EXPECT_EQ(exit_code(leaves), 0);
  (void)test::error_of([&] { (void)other->get("k", 60s); }, ErrorCode::peer_failure);
  EXPECT_EQ(other->lost(), std::vector<int>()) << "it ended as it should";
}

// The child must not speak for its parent, and must not hold its connection or its port.
TEST_F(StoreRanksTest, ForkedChildHasNoPartInTheStore) {
  const Signal forked;
  const Signal release;
  const std::string where = store_address();
  const pid_t rank = start_process([&] {
    auto server = std::make_unique<StoreServer>("tcp:127.0.0.1:0", kSecret);
    const std::shared_ptr<Store> own = connect_store(server->address(), kSecret, 20s);
    std::shared_ptr<Store> store = connect_store(where, kSecret, 20s, {.rank = 1, .size = 2});
    const int failure = [&] {
      const std::string address = server->address();
      const pid_t child = ::fork();
      if (child == 0) {
        try {
          store->put("from the child", "v");
          ::_exit(1);
        } catch (const Error& error) {
          if (error.code() != ErrorCode::invalid_usage) ::_exit(2);
        }
        if (!store->lost().empty()) ::_exit(3);
        store.reset();   // says no goodbye
        server.reset();  // does not stop the parent's
        forked.give();
        release.await();
        ::_exit(0);
      }
      forked.await();
      own->put("served", "by the parent");
      if (own->get("served", 10s) != "by the parent") return 4;
      server.reset();  // the port is free again, although a child lives
      server = std::make_unique<StoreServer>(address, kSecret);
      store->put("from the parent", "v");
      return 0;
    }();
    if (failure != 0) return failure;
    ::raise(SIGKILL);  // the child lives on
    return 0;
  });
  const StoreServer server(where, kSecret);
  const std::shared_ptr<Store> zero = connect_store(where, kSecret, 20s, {.rank = 0, .size = 2});
  EXPECT_EQ(zero->get("from the parent", 30s), "v");
  EXPECT_EQ(await_lost(*zero), std::vector<int>{1}) << "the child must not keep the connection of its parent";
  EXPECT_EQ(exit_code(rank), 128 + SIGKILL);
  release.give();
}

TEST_F(StoreRanksTest, ThreadsMayAskWhileOthersWait) {
  const StoreServer server(store_address(), kSecret);
  const Signal ready;
  const pid_t victim = start_rank(1, 2, ready);
  ready.await();
  const std::shared_ptr<Store> zero = connect(0, 2);
  std::thread waiting([&] { EXPECT_EQ(zero->get("k", 60s), "v"); });
  std::thread asking([&] { EXPECT_EQ(await_lost(*zero), std::vector<int>{1}); });
  kill_rank(victim);
  asking.join();
  zero->put("k", "v");
  waiting.join();
}

}  // namespace
}  // namespace tutti
