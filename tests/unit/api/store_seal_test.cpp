// Frames that somebody on the way changes, repeats, moves or leaves out: the side that receives them must end the
// connection, say so, and do nothing else.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "raw_store_client.hpp"
#include "store_fixture.hpp"
#include "tutti/error.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/spi/abstract_socket.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti {
namespace {

using namespace std::chrono_literals;

class StoreSealTest : public StoreFixture {};

TEST_F(StoreSealTest, ServerEndsAConnectionWithWrongFrames) {
  const StoreServer server(unix_address(), kSecret);
  const std::shared_ptr<Store> good = connect_store(server.address(), kSecret, 20s);
  using Attack = std::function<std::string(RawClient&)>;
  const std::vector<std::pair<const char*, Attack>> attacks = {
      {"no seal", [](RawClient&) { return request(1, 0, "bad", "v") + request(1, 1, "bad2", "v"); }},
      {"seal of another key", [](RawClient& peer) { return peer.seal_of_server(request(1, 0, "bad", "v")); }},
      {"changed value",
       [](RawClient& peer) {
         std::string frame = peer.seal(request(1, 0, "bad", "v"));
         frame[frame.size() - 33] = 'w';
         return frame;
       }},
      {"changed seal",
       [](RawClient& peer) {
         std::string frame = peer.seal(request(1, 0, "bad", "v"));
         frame.back() = static_cast<char>(frame.back() ^ 1);
         return frame;
       }},
      {"left out",
       [](RawClient& peer) {
         (void)peer.seal(request(1, 0, "before", "v"));
         return peer.seal(request(1, 1, "bad", "v"));
       }},
      {"swapped",
       [](RawClient& peer) {
         const std::string first = peer.seal(request(1, 0, "bad", "v"));
         return peer.seal(request(1, 1, "bad2", "v")) + first;
       }},
  };
  for (const auto& [name, attack] : attacks) {
    RawClient peer(server.address());
    ASSERT_TRUE(peer.connected() && peer.authenticate(kSecret));
    peer.say(attack(peer));
    EXPECT_EQ(peer.hear_out(30s), std::optional<std::string>("")) << name;
  }
  {
    RawClient peer(server.address());
    ASSERT_TRUE(peer.connected() && peer.authenticate(kSecret));
    const std::string once = peer.seal(request(2, 0, "none"));
    peer.say(once);
    EXPECT_EQ(peer.hear(4 + 9 + 32).size(), std::size_t{4 + 9 + 32});
    peer.say(once);
    EXPECT_EQ(peer.hear_out(30s), std::optional<std::string>("")) << "repeated";
  }
  for (const char* key : {"bad", "bad2", "before"}) {
    (void)test::error_of([&] { (void)good->get(key, 0s); }, ErrorCode::timeout);
  }
  good->put("still", "here");
  EXPECT_EQ(good->get("still", 10s), "here");
}

/// Passes one connection on to a server; `change` may alter the answers that follow the handshake.
class Proxy {
 public:
  using Change = std::function<std::string(std::string)>;

  Proxy(const std::string& name, const std::string& server, Change change)
      : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), change_(std::move(change)) {
    const spi::AbstractAddress here(name);
    if (::bind(listener_.get(), here.pointer(), here.length) != 0 || ::listen(listener_.get(), 1) != 0) return;
    thread_ = std::thread([this, server] { run(server.substr(5)); });
  }
  ~Proxy() {
    if (thread_.joinable()) thread_.join();
  }
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

 private:
  void run(const std::string& server) {
    const spi::FileDescriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const spi::FileDescriptor upstream(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const spi::AbstractAddress there(server);
    if (::connect(upstream.get(), there.pointer(), there.length) != 0) return;
    std::size_t handshake = 40 + 35;
    std::array<pollfd, 2> sides = {{{client.get(), POLLIN, 0}, {upstream.get(), POLLIN, 0}}};
    std::array<char, 4096> buffer;
    while (::poll(sides.data(), sides.size(), 60'000) > 0) {
      for (std::size_t i = 0; i < 2; ++i) {
        if (sides[i].revents == 0) continue;
        // Answers come whole here: they are small, and the client has one request under way.
        const std::size_t room = i == 1 && handshake > 0 ? handshake : buffer.size();
        const ssize_t got = ::recv(sides[i].fd, buffer.data(), room, 0);
        if (got <= 0) return;
        std::string bytes(buffer.data(), static_cast<std::size_t>(got));
        if (i == 1 && handshake > 0) {
          handshake -= bytes.size();
        } else if (i == 1) {
          bytes = change_(std::move(bytes));
        }
        if (::send(sides[1 - i].fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;
      }
    }
  }

  spi::FileDescriptor listener_;
  Change change_;
  std::thread thread_;
};

TEST_F(StoreSealTest, ClientEndsAConnectionWithWrongFrames) {
  const StoreServer server(unix_address(), kSecret);
  const std::string name = unix_address().substr(5) + "-proxy";
  connect_store(server.address(), kSecret, 20s)->put("k", "value");
  const auto honest = [](std::string bytes) { return bytes; };
  {
    const Proxy proxy(name, server.address(), honest);
    EXPECT_EQ(connect_store("unix:" + name, kSecret, 20s)->get("k", 10s), "value") << "control";
  }
  std::string first;
  const std::vector<std::pair<const char*, Proxy::Change>> attacks = {
      {"changed value",
       [](std::string bytes) {
         bytes[4 + 9] = 'V';
         return bytes;
       }},
      {"changed outcome",
       [](std::string bytes) {
         bytes[4] = 1;
         return bytes;
       }},
      {"changed length",
       [](std::string bytes) {
         --bytes[0];
         return bytes;
       }},
      {"changed seal",
       [](std::string bytes) {
         bytes.back() = static_cast<char>(bytes.back() ^ 0x80);
         return bytes;
       }},
      {"repeated",
       [&first](std::string bytes) {
         if (first.empty()) first = bytes;
         return first;
       }},
  };
  for (const auto& [what, change] : attacks) {
    const Proxy proxy(name, server.address(), change);
    const std::shared_ptr<Store> store = connect_store("unix:" + name, kSecret, 20s);
    const std::string message = test::error_of(
        [&] {
          (void)store->get("k", 10s);
          (void)store->get("k", 10s);
        },
        ErrorCode::system);
    EXPECT_EQ(message, "the connection to the job's store at unix:" + name +
                           " carried a frame that the server did not send in this form or at this place; something "
                           "between this process and the server changes the data")
        << what;
    (void)test::error_of([&] { store->put("later", "v"); }, ErrorCode::system);
  }
  EXPECT_EQ(connect_store(server.address(), kSecret, 20s)->get("k", 10s), "value");
}

TEST_F(StoreSealTest, WithoutASecretFramesHaveNoSeal) {
  const StoreServer server(unix_address(), "");
  const std::string name = unix_address().substr(5) + "-proxy";
  std::size_t bytes = 0;
  const Proxy proxy(name, server.address(), [&](std::string answer) {
    bytes = answer.size();
    return answer;
  });
  connect_store("unix:" + name, "", 20s)->put("k", "v");
  EXPECT_EQ(bytes, std::size_t{4 + 9});
}

}  // namespace
}  // namespace tutti
