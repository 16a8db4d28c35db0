// Clients without the secret and peers that violate the protocol: the store must close their connections and keep
// serving the others.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "raw_store_client.hpp"
#include "store_fixture.hpp"
#include "tutti/error.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class StoreIntruderTest : public StoreFixture {};

TEST_F(StoreIntruderTest, GarbageEndsTheConnectionAndNothingElse) {
  const StoreServer server(unix_address(), kSecret);
  const std::shared_ptr<Store> good = connect_store(server.address(), kSecret, 20s);
  for (const std::string& garbage :
       {std::string(232, 'x'), std::string("GET / HTTP/1.1\r\n\r\n") + std::string(300, '\n'),
        std::string(1 << 20, '\xff'), "tuttist4" + std::string(224, '\0')}) {
    const RawClient stranger(server.address());
    ASSERT_TRUE(stranger.connected());
    stranger.say(garbage);
    const std::optional<std::string> heard = stranger.hear_out(30s);
    ASSERT_TRUE(heard.has_value());
    EXPECT_LE(heard->size(), 40U + 35U);
    // The server answers a refusal only to a client that speaks the protocol: a 0 without a proof.
    if (heard->size() > 40) {
      EXPECT_EQ(heard->substr(40), std::string(35, '\0'));
    }
  }
  good->put("still", "here");
  EXPECT_EQ(good->get("still", 10s), "here");
}

TEST_F(StoreIntruderTest, MalformedRequestsEndTheConnectionAndNothingElse) {
  const StoreServer server(unix_address(), kSecret);
  const std::shared_ptr<Store> good = connect_store(server.address(), kSecret, 20s);
  {
    // Control: a well-formed request from the same hand is answered.
    RawClient peer(server.address());
    ASSERT_TRUE(peer.connected() && peer.authenticate(kSecret));
    peer.say(peer.seal(request(1, 7, "well formed", "v")));
    EXPECT_EQ(peer.hear(4 + 9 + 32), peer.seal_of_server(frame(std::string(1, '\0') + number(7, 8))));
    EXPECT_EQ(good->get("well formed", 10s), "v");
  }
  // Of a put, without the lengths of key and members.
  const std::string head = std::string("\1") + std::string(8 + 8 + 4 + 4, '\0');
  for (const std::string& bad : {number(0xffffffff, 4), number((16 << 20) + 200000, 4),      // longer than any request
                                 frame(""), frame("\1"), frame(head),                        // too short to be one
                                 request(9, 0, "k"), request(1, 0, ""),                      // no such kind, no key
                                 request(1, 0, std::string(4097, 'k')),                      // key too long
                                 request(2, 0, "k", "v"),                                    // a get with a value
                                 frame(head + number(0xffffffff, 4) + number(0, 4) + "k"),   // key beyond the end
                                 frame(head + number(1, 4) + number(0xffffffff, 4) + "km"),  // members beyond the end
                                 frame(head + number(1, 4) + number(1, 4) + "km"),           // a put with members
                                 request(3, 0, "k"), request(3, 0, "", "v"),  // a goodbye with a key, a value
                                 request(1, 0, "k", std::string((16 << 20) + 1, 'v'))}) {  // value too long
    RawClient peer(server.address());
    ASSERT_TRUE(peer.connected() && peer.authenticate(kSecret));
    peer.say(peer.seal(bad));
    EXPECT_EQ(peer.hear_out(30s), std::optional<std::string>(""));
  }
  (void)test::error_of([&] { (void)good->get("k", 0s); }, ErrorCode::timeout);
  good->put("still", "here");
  EXPECT_EQ(good->get("still", 10s), "here");
}

TEST_F(StoreIntruderTest, ClientThatDoesNotReadHoldsUpNobody) {
  const StoreServer server(unix_address(), kSecret);
  const std::shared_ptr<Store> good = connect_store(server.address(), kSecret, 20s);
  constexpr std::size_t kLarge = std::size_t{64} << 10;
  constexpr std::uint64_t kRequests = 3000;  // more answers than the server keeps for a client
  good->put("large", std::string(kLarge, 'v'));
  RawClient greedy(server.address());
  ASSERT_TRUE(greedy.connected() && greedy.authenticate(kSecret));
  std::string many;
  for (std::uint64_t id = 0; id < kRequests; ++id) many += greedy.seal(request(2, id, "large"));
  greedy.say(many);
  const Clock::time_point start = Clock::now();
  good->put("small", "v");
  EXPECT_EQ(good->get("small", 30s), "v");
  EXPECT_LT(Clock::now() - start, 20s);
  // Once the client reads, the server takes and answers the rest of its requests, in order.
  for (std::uint64_t id = 0; id < kRequests; ++id) {
    const std::string answer = greedy.hear(4 + 9 + kLarge + 32);
    ASSERT_EQ(answer.substr(0, 4 + 9), number(9 + kLarge, 4) + std::string(1, '\0') + number(id, 8)) << id;
    ASSERT_EQ(answer.size(), 4 + 9 + kLarge + 32);
  }
}

TEST_F(StoreIntruderTest, SilentStrangersAreShownTheDoorAndDoNotKeepOthersOut) {
  const StoreServer server(unix_address(), kSecret);
  std::vector<std::unique_ptr<RawClient>> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(std::make_unique<RawClient>(server.address()));
  EXPECT_NO_THROW((void)connect_store(server.address(), kSecret, 20s));
  EXPECT_EQ(strangers.front()->hear(40).size(), 40U) << "there is room for all of them";
  const std::optional<std::string> heard = strangers.front()->hear_out(30s);
  EXPECT_EQ(heard, std::optional<std::string>("")) << "a stranger must be dropped when it stays silent";
}

// Beyond the limit of connections, the oldest silent stranger makes room for each new client.
TEST_F(StoreIntruderTest, ManySilentStrangersDoNotKeepRanksWaiting) {
  const StoreServer server(unix_address(), kSecret);
  const std::shared_ptr<Store> good = connect_store(server.address(), kSecret, 20s, {.rank = 0, .size = 9});
  std::vector<std::unique_ptr<RawClient>> strangers;
  for (int i = 0; i < 400; ++i) {
    strangers.push_back(std::make_unique<RawClient>(server.address()));
    ASSERT_TRUE(strangers.back()->connected());
  }
  for (int rank = 1; rank < 9; ++rank) {
    const std::shared_ptr<Store> store = connect_store(server.address(), kSecret, 20s, {.rank = rank, .size = 9});
    store->put("k" + std::to_string(rank), "v");
    EXPECT_EQ(good->get("k" + std::to_string(rank), 20s), "v");
  }
  EXPECT_EQ(strangers.front()->hear_out(30s).value_or("open").size(), 40U) << "greeted, then dropped";
  EXPECT_EQ(good->lost(), std::vector<int>());
}

TEST_F(StoreIntruderTest, OtherUsersAreTurnedAway) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const StoreServer server(unix_address(), "");
  const std::string where = server.address();
  const pid_t raw = start_process([&] {
    if (::setuid(65534) != 0) return 1;
    const RawClient stranger(where);
    if (!stranger.connected()) return 2;
    return stranger.hear_out(30s) == std::optional<std::string>("") ? 7 : 3;
  });
  EXPECT_EQ(exit_code(raw), 7) << "the server must not even greet another user";
  const pid_t polite = start_process([&] {
    if (::setuid(65534) != 0) return 1;
    try {
      (void)connect_store(where, "", 10s);
    } catch (const Error& error) {
      return error.code() == ErrorCode::invalid_argument ? 7 : 2;
    }
    return 3;
  });
  EXPECT_EQ(exit_code(polite), 7) << "the client must not trust the store of another user";
  EXPECT_NO_THROW((void)connect_store(where, "", 10s));
}

}  // namespace
}  // namespace tutti
