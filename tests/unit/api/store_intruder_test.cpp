// Clients without the secret and peers that violate the protocol: the store must close their connections and keep
// serving the others.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/authentication.hpp"
#include "store_fixture.hpp"
#include "tutti/error.hpp"
#include "tutti/rendezvous.hpp"

namespace tutti {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class StoreIntruderTest : public StoreFixture {};

/// A connection to the server that can send any bytes.
class RawClient {
 public:
  explicit RawClient(const std::string& unix_store) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = unix_store.substr(5);
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0;
  }
  ~RawClient() { ::close(fd_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  /// Whether the connection is still open.
  [[nodiscard]] bool is_let_in() const {
    pollfd closed{fd_, POLLRDHUP, 0};
    return ::poll(&closed, 1, 0) == 0;
  }
  /// Sends all bytes, or stops when the server has closed the connection.
  void say(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR) return;
      bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    }
  }

  /// Performs the handshake with this secret; true if the server accepts it.
  [[nodiscard]] bool authenticate(std::string_view secret) const {
    std::array<std::uint8_t, 40> greeting;
    if (::recv(fd_, greeting.data(), greeting.size(), MSG_WAITALL) != 40) return false;
    Nonce server;
    std::copy_n(greeting.data() + 8, server.size(), server.data());
    const Nonce client = make_nonce();
    const Digest proof = make_proof(secret, Role::client, client, server);
    std::string response = "tuttist2";
    response.append(client.begin(), client.end()).append(proof.begin(), proof.end());
    say(response);
    std::array<char, 33> verdict;
    return ::recv(fd_, verdict.data(), verdict.size(), MSG_WAITALL) == 33 && verdict[0] == 1;
  }

  /// The next `size` bytes; fewer when the server closes before, or sends nothing for 30 s.
  [[nodiscard]] std::string hear(std::size_t size) const {
    std::string heard(size, '\0');
    std::size_t have = 0;
    pollfd readable{fd_, POLLIN, 0};
    while (have < size) {
      if (::poll(&readable, 1, 30'000) <= 0) break;
      const ssize_t got = ::recv(fd_, heard.data() + have, size - have, 0);
      if (got <= 0) break;
      have += static_cast<std::size_t>(got);
    }
    heard.resize(have);
    return heard;
  }

  /// Reads all bytes until the server closes the connection; nothing if it is still open after `patience`.
  [[nodiscard]] std::optional<std::string> hear_out(std::chrono::milliseconds patience) const {
    std::string heard;
    char buffer[4096];
    const Clock::time_point end = Clock::now() + patience;
    while (Clock::now() < end) {
      pollfd readable{fd_, POLLIN, 0};
      if (::poll(&readable, 1, 50) <= 0) continue;
      const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
      if (got <= 0) return heard;
      heard.append(buffer, static_cast<std::size_t>(got));
    }
    return std::nullopt;
  }

 private:
  int fd_;
  bool connected_ = false;
};

TEST_F(StoreIntruderTest, GarbageEndsTheConnectionAndNothingElse) {
  const StoreServer server(unix_address(), kSecret);
  const std::shared_ptr<Store> good = connect_store(server.address(), kSecret, 20s);
  for (const std::string& garbage :
       {std::string(72, 'x'), std::string("GET / HTTP/1.1\r\n\r\n") + std::string(100, '\n'),
        std::string(1 << 20, '\xff'), "tuttist2" + std::string(64, '\0')}) {
    const RawClient stranger(server.address());
    ASSERT_TRUE(stranger.connected());
    stranger.say(garbage);
    const std::optional<std::string> heard = stranger.hear_out(30s);
    ASSERT_TRUE(heard.has_value());
    EXPECT_LE(heard->size(), 40U + 33U);
    // The server answers a refusal only to a client that speaks the protocol: a 0 without a proof.
    if (heard->size() > 40) {
      EXPECT_EQ(heard->substr(40), std::string(33, '\0'));
    }
  }
  good->put("still", "here");
  EXPECT_EQ(good->get("still", 10s), "here");
}

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

std::string frame(const std::string& body) { return number(body.size(), 4) + body; }

/// A request in the form of store_protocol.hpp: kind, id, timeout, reads, length of the key, key, value.
std::string request(char kind, std::uint64_t id, const std::string& key, const std::string& value = {}) {
  return frame(kind + number(id, 8) + number(0, 8) + number(0, 4) + number(key.size(), 4) + key + value);
}

TEST_F(StoreIntruderTest, MalformedRequestsEndTheConnectionAndNothingElse) {
  const StoreServer server(unix_address(), kSecret);
  const std::shared_ptr<Store> good = connect_store(server.address(), kSecret, 20s);
  {
    // Control: a well-formed request from the same hand is answered.
    const RawClient peer(server.address());
    ASSERT_TRUE(peer.connected() && peer.authenticate(kSecret));
    peer.say(request(1, 7, "well formed", "v"));
    EXPECT_EQ(peer.hear(4 + 9), frame(std::string(1, '\0') + number(7, 8)));
    EXPECT_EQ(good->get("well formed", 10s), "v");
  }
  const std::string head = std::string("\1") + std::string(8 + 8 + 4, '\0');  // of a put, without the key's length
  for (const std::string& bad : {number(0xffffffff, 4), number((16 << 20) + 5000, 4),      // longer than any request
                                 frame(""), frame("\1"), frame(head),                      // too short to be one
                                 request(9, 0, "k"), request(1, 0, ""),                    // no such kind, no key
                                 request(1, 0, std::string(4097, 'k')),                    // key too long
                                 request(2, 0, "k", "v"),                                  // a get with a value
                                 frame(head + number(0xffffffff, 4) + "k"),                // key beyond the end
                                 request(1, 0, "k", std::string((16 << 20) + 1, 'v'))}) {  // value too long
    const RawClient peer(server.address());
    ASSERT_TRUE(peer.connected() && peer.authenticate(kSecret));
    peer.say(bad);
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
  const RawClient greedy(server.address());
  ASSERT_TRUE(greedy.connected() && greedy.authenticate(kSecret));
  std::string many;
  for (std::uint64_t id = 0; id < kRequests; ++id) many += request(2, id, "large");
  greedy.say(many);
  const Clock::time_point start = Clock::now();
  good->put("small", "v");
  EXPECT_EQ(good->get("small", 30s), "v");
  EXPECT_LT(Clock::now() - start, 20s);
  // Once the client reads, the server takes and answers the rest of its requests, in order.
  for (std::uint64_t id = 0; id < kRequests; ++id) {
    const std::string answer = greedy.hear(4 + 9 + kLarge);
    ASSERT_EQ(answer.substr(0, 4 + 9), number(9 + kLarge, 4) + std::string(1, '\0') + number(id, 8)) << id;
    ASSERT_EQ(answer.size(), 4 + 9 + kLarge);
  }
}

TEST_F(StoreIntruderTest, SilentStrangersAreShownTheDoorAndDoNotKeepOthersOut) {
  const StoreServer server(unix_address(), kSecret);
  std::vector<std::unique_ptr<RawClient>> strangers;
  for (int i = 0; i < 127; ++i) strangers.push_back(std::make_unique<RawClient>(server.address()));
  EXPECT_NO_THROW((void)connect_store(server.address(), kSecret, 20s));
  EXPECT_TRUE(strangers.front()->is_let_in()) << "the client was accepted only after the strangers had timed out";
  // Beyond the limit of connections, a client is accepted after the strangers have timed out.
  for (int i = 0; i < 20; ++i) strangers.push_back(std::make_unique<RawClient>(server.address()));
  EXPECT_NO_THROW((void)connect_store(server.address(), kSecret, 40s));
  const std::optional<std::string> heard = strangers.front()->hear_out(30s);
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->size(), 40U);
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
