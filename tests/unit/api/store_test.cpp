// The socket store, with processes as clients.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "store/deadline.hpp"
#include "store/wire/socket_transfer.hpp"
#include "store_fixture.hpp"
#include "tutti/error.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class StoreTest : public StoreFixture, public testing::WithParamInterface<const char*> {};

bool has_ipv6() {
  const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&loopback), sizeof loopback) == 0;
  ::close(fd);
  return bound;
}

TEST_P(StoreTest, ProcessesExchangeValues) {
  if (std::string(GetParam()) == "tcp:[::1]" && !has_ipv6()) GTEST_SKIP() << "this machine has no IPv6 loopback";
  const StoreServer server(address(GetParam()), kSecret);
  EXPECT_FALSE(server.address().ends_with(":0"));
  constexpr int kRanks = 4;
  std::vector<pid_t> children;
  for (int rank = 0; rank < kRanks; ++rank) {
    children.push_back(start_process([&] {
      const Rendezvous me(rank, kRanks, connect_store(server.address(), kSecret, 20s), "job", 20s);
      for (int round = 0; round < 10; ++round) {
        const std::vector<std::string> all = me.allgather("x", std::to_string(rank * 100 + round));
        for (int other = 0; other < kRanks; ++other) {
          if (all[static_cast<std::size_t>(other)] != std::to_string(other * 100 + round)) return 1;
        }
        me.barrier("b");
        if (me.broadcast("c", "v" + std::to_string(rank), 2) != "v2") return 2;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(exit_code(child), 0);
}

TEST_P(StoreTest, KeepsTheContractOfAStore) {
  if (std::string(GetParam()) == "tcp:[::1]" && !has_ipv6()) GTEST_SKIP() << "this machine has no IPv6 loopback";
  const StoreServer server(address(GetParam()), kSecret);
  const std::shared_ptr<Store> one = connect_store(server.address(), kSecret, 20s);
  const std::shared_ptr<Store> other = connect_store(server.address(), kSecret, 20s);
  one->put("k", std::string("a\0b", 3));
  EXPECT_EQ(other->get("k", 0s), std::string("a\0b", 3));
  EXPECT_EQ(one->get("k", 1ns), std::string("a\0b", 3));
  one->put("empty", "");
  EXPECT_EQ(other->get("empty", 10s), "");
  EXPECT_EQ(test::error_of([&] { other->put("k", "2"); }, ErrorCode::invalid_usage),
            "the key 'k' is in the job's store already");
  EXPECT_EQ(server.size(), 2U);
  std::thread waiting([&] { EXPECT_EQ(other->get("thrice", 20s), "v"); });
  one->put("thrice", "v", 3);
  waiting.join();
  EXPECT_EQ(one->get("thrice", 20s), "v");
  EXPECT_EQ(one->get("thrice", 0s), "v") << "get() without waiting must not count as one of the three reads";
  EXPECT_EQ(other->get("thrice", 20s), "v");
  (void)test::error_of([&] { (void)other->get("thrice", 0s); }, ErrorCode::timeout);
  EXPECT_EQ(server.size(), 2U);
  const Clock::time_point start = Clock::now();
  EXPECT_EQ(test::error_of([&] { (void)other->get("none", 100ms); }, ErrorCode::timeout),
            "the key 'none' did not appear in the job's store within 100 ms");
  EXPECT_GE(Clock::now() - start, 100ms);
  EXPECT_LT(Clock::now() - start, 20s);
  (void)test::error_of([&] { (void)other->get("none", 0s); }, ErrorCode::timeout);
  (void)test::error_of([&] { one->put("", "2"); }, ErrorCode::invalid_argument);
  (void)test::error_of([&] { one->put(std::string(4097, 'k'), "2"); }, ErrorCode::invalid_argument);
  (void)test::error_of([&] { (void)one->get(std::string(4097, 'k'), 1s); }, ErrorCode::invalid_argument);
}

TEST_P(StoreTest, CarriesTheLargestEntryButNoLarger) {
  if (std::string(GetParam()) == "tcp:[::1]" && !has_ipv6()) GTEST_SKIP() << "this machine has no IPv6 loopback";
  const StoreServer server(address(GetParam()), kSecret);
  const std::shared_ptr<Store> store = connect_store(server.address(), kSecret, 20s);
  std::string value(std::size_t{16} << 20, '\0');
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>(i * 2654435761U >> 24);
  const std::string key(4096, 'k');
  store->put(key, value);
  EXPECT_TRUE(store->get(key, 20s) == value);
  (void)test::error_of([&] { store->put("l", value + "x"); }, ErrorCode::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Addresses, StoreTest, testing::Values("unix", "tcp:127.0.0.1", "tcp:[::1]", "tcp:localhost"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
                           return name;
                         });

TEST_F(StoreTest, WaitingThreadsDoNotHoldUpEachOther) {
  const StoreServer server("tcp:127.0.0.1:0", kSecret);
  const std::shared_ptr<Store> store = connect_store(server.address(), kSecret, 20s);
  constexpr int kThreads = 16;
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      if (store->get("k" + std::to_string(i), 30s) == std::to_string(i)) ++right;
    });
  }
  std::thread impatient([&] { (void)test::error_of([&] { (void)store->get("never", 50ms); }, ErrorCode::timeout); });
  impatient.join();
  // In reverse order, through the connection on which all threads wait.
  for (int i = kThreads - 1; i >= 0; --i) store->put("k" + std::to_string(i), std::to_string(i));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, kThreads);
}

TEST_F(StoreTest, ConnectWaitsForTheServer) {
  const std::string where = unix_address();
  std::thread client([&] { EXPECT_EQ(connect_store(where, "", 20s)->get("k", 20s), "v"); });
  std::this_thread::sleep_for(100ms);
  const StoreServer server(where, "");
  connect_store(where, "", 20s)->put("k", "v");
  client.join();
}

TEST_F(StoreTest, ConnectGivesUpInTime) {
  const Clock::time_point start = Clock::now();
  const std::string message =
      test::error_of([] { (void)connect_store(unix_address(), "", 200ms); }, ErrorCode::timeout);
  EXPECT_EQ(message, "no connection to the job's store at " + unix_address() + " within 200 ms: Connection refused");
  EXPECT_LT(Clock::now() - start, 20s);
}

TEST_F(StoreTest, WrongSecretIsRefusedWhicheverSideIsWrong) {
  for (const std::string& where : {unix_address(), std::string("tcp:127.0.0.1:0")}) {
    const StoreServer server(where, kSecret);
    for (const char* wrong : {"correct horse battery stapl", "another horse battery"}) {
      const pid_t child = start_process([&] {
        try {
          (void)connect_store(server.address(), wrong, 20s);
        } catch (const Error& error) {
          return error.code() == ErrorCode::invalid_argument &&
                         std::string(error.what()).find("do not have the same secret") != std::string::npos
                     ? 7
                     : 1;
        }
        return 0;
      });
      EXPECT_EQ(exit_code(child), 7);
    }
    EXPECT_NO_THROW((void)connect_store(server.address(), kSecret, 20s));
  }
  const StoreServer server(unix_address(), kSecret);
  (void)test::error_of([] { (void)connect_store(unix_address(), "", 20s); }, ErrorCode::invalid_argument);
}

TEST_F(StoreTest, TcpNeedsALongSecret) {
  (void)test::error_of([] { StoreServer("tcp:127.0.0.1:0", ""); }, ErrorCode::invalid_argument);
  (void)test::error_of([] { (void)connect_store("tcp:127.0.0.1:1", "", 1s); }, ErrorCode::invalid_argument);
  const std::string message =
      "the secret of the store at tcp:127.0.0.1:1 (TUTTI_JOB_SECRET) has 15 bytes; tcp: addresses need at least 16 "
      "random bytes, the same on all ranks: make them with `openssl rand -hex 32`";
  EXPECT_EQ(test::error_of([] { StoreServer("tcp:127.0.0.1:1", "fifteen letters"); }, ErrorCode::invalid_argument),
            message);
  EXPECT_EQ(test::error_of([] { (void)connect_store("tcp:127.0.0.1:1", "fifteen letters", 1s); },
                           ErrorCode::invalid_argument),
            message);
  EXPECT_NO_THROW(StoreServer("tcp:127.0.0.1:0", "sixteen letters!"));
  EXPECT_NO_THROW(StoreServer(unix_address(), "x"));
}

TEST_F(StoreTest, BadAddressesAreNamed) {
  for (const std::string& bad :
       {std::string(), std::string("tcp"), std::string("tcp:"), std::string("tcp:host"), std::string("tcp::80"),
        std::string("tcp:host:"), std::string("tcp:host:65536"), std::string("tcp:host:-1"), std::string("tcp:::1:80"),
        std::string("tcp:[]:80"), std::string("unix:"), "unix:" + std::string(108, 'x'), std::string("udp:host:80"),
        std::string("unix:a\0b", 8)}) {
    EXPECT_NE(
        test::error_of([&] { StoreServer(bad, kSecret); }, ErrorCode::invalid_argument).find("accepted: tcp:HOST:PORT"),
        std::string::npos)
        << bad;
  }
  (void)test::error_of([] { (void)connect_store("tcp:no-such-host.invalid:80", kSecret, 1ms); }, ErrorCode::timeout);
}

TEST_F(StoreTest, AddressInUse) {
  const StoreServer server("tcp:127.0.0.1:0", kSecret);
  try {
    StoreServer(server.address(), kSecret);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::system);
    EXPECT_EQ(error.vendor_code(), EADDRINUSE);
    EXPECT_NE(std::string(error.what()).find(server.address()), std::string::npos);
  }
}

TEST_F(StoreTest, ServerThatEndsIsNoticedAtOnce) {
  auto server = std::make_unique<StoreServer>(unix_address(), "");
  const std::shared_ptr<Store> store = connect_store(unix_address(), "", 20s);
  std::vector<std::thread> waiting;
  std::atomic<int> told = 0;
  for (int i = 0; i < 3; ++i) {
    waiting.emplace_back([&] {
      const std::string message = test::error_of([&] { (void)store->get("never", 60s); }, ErrorCode::system);
      if (message == "the job's store at " + unix_address() + " is gone: rank 0 or the launcher ended") ++told;
    });
  }
  std::this_thread::sleep_for(50ms);
  const Clock::time_point start = Clock::now();
  server.reset();
  for (std::thread& thread : waiting) thread.join();
  EXPECT_LT(Clock::now() - start, 20s);
  EXPECT_EQ(told, 3);
  (void)test::error_of([&] { store->put("k", "v"); }, ErrorCode::system);
}

TEST_F(StoreTest, KilledServerIsNoticedAtOnce) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const std::string where = unix_address();
  const pid_t child = start_process([&] {
    const StoreServer server(where, "");
    if (::write(ready[1], "x", 1) != 1) return 1;
    ::pause();
    return 0;
  });
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  ::close(ready[0]);
  ::close(ready[1]);
  const std::shared_ptr<Store> store = connect_store(where, "", 20s);
  std::thread killer([&] {
    std::this_thread::sleep_for(50ms);
    ::kill(child, SIGKILL);
  });
  const Clock::time_point start = Clock::now();
  EXPECT_NE(test::error_of([&] { (void)store->get("never", 60s); }, ErrorCode::system).find("is gone"),
            std::string::npos);
  EXPECT_LT(Clock::now() - start, 20s);
  killer.join();
  EXPECT_EQ(exit_code(child), 128 + SIGKILL);
}

// Rank 0 hosts the store and exits right after its barrier; the others must still complete theirs.
TEST_F(StoreTest, HostMayEndRightAfterABarrier) {
  const std::string where = unix_address();
  for (int round = 0; round < 20; ++round) {
    std::vector<pid_t> children;
    for (int rank = 0; rank < 3; ++rank) {
      children.push_back(start_process([&] {
        std::unique_ptr<StoreServer> server;
        if (rank == 0) server = std::make_unique<StoreServer>(where, "");
        Rendezvous(rank, 3, connect_store(where, "", 20s), {}, 20s).barrier("end");
        return 0;
      }));
    }
    for (const pid_t child : children) EXPECT_EQ(exit_code(child), 0) << "round " << round;
  }
}

TEST_F(StoreTest, SixtyFourClients) {
  const StoreServer server("tcp:127.0.0.1:0", kSecret);
  constexpr int kClients = 64;
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kClients; ++rank) {
    threads.emplace_back([&, rank] {
      const Rendezvous me(rank, kClients, connect_store(server.address(), kSecret, 30s), {}, 30s);
      const std::vector<std::string> all = me.allgather("x", std::to_string(rank));
      for (int other = 0; other < kClients; ++other) {
        if (all[static_cast<std::size_t>(other)] == std::to_string(other)) ++right;
      }
      me.barrier("end");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, kClients * kClients);
}

TEST_F(StoreTest, ServersComeAndGoPromptly) {
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 50; ++i) {
    const StoreServer server(unix_address(), "");
    const std::shared_ptr<Store> store = connect_store(server.address(), "", 20s);
    store->put("k", "v");
  }
  EXPECT_LT(Clock::now() - start, 10s);
}

TEST(SocketTransfer, AFailingPollEndsAtTheDeadline) {
  int pair[2] = {-1, -1};  // NOLINT
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  // poll() of more descriptors than the limit fails with EINVAL.
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool is_ready = wait_for(pair[0], POLLIN, deadline_after(50ms));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  // Else the caller, who would read nothing, would ask again and again.
  EXPECT_FALSE(is_ready);
  ::close(pair[0]);
  ::close(pair[1]);
}

}  // namespace
}  // namespace tutti
