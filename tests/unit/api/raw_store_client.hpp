#pragma once

// A client of the socket store that is written against the description of the protocol, not with its functions.

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "store/wire/authentication.hpp"

namespace tutti {

inline std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

/// A frame without its seal.
inline std::string frame(const std::string& body) { return number(body.size(), 4) + body; }

/// A request in the form of store_protocol.hpp: kind, id, timeout, reads, giver, lengths of key and members, key,
/// value.
inline std::string request(char kind, std::uint64_t id, const std::string& key, const std::string& value = {}) {
  return frame(kind + number(id, 8) + number(0, 8) + number(0, 4) + number(0xffffffff, 4) + number(key.size(), 4) +
               number(0, 4) + key + value);
}

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
  /// Sends all bytes, or stops when the server has closed the connection.
  void say(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR) return;
      bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    }
  }

  /// Performs the handshake with this secret, as a client that is no rank; true if the server accepts it.
  [[nodiscard]] bool authenticate(std::string_view secret) {
    const std::string greeting = hear(40);
    if (greeting.size() != 40) return false;
    const Nonce random = make_nonce();
    const std::string client(random.begin(), random.end());
    const std::string nonces = client + greeting.substr(8);
    const std::string hello = number(0xffffffff, 4) + std::string(156, '\0');
    say("tuttist4" + client + hello + mac(secret, "tutti store 3 client" + nonces + hello));
    client_key_ = mac(secret, "tutti store 3 key of client" + nonces);
    server_key_ = mac(secret, "tutti store 3 key of server" + nonces);
    return hear(35) == "\1" + mac(secret, "tutti store 3 server" + nonces + "\1") + number(0, 2);
  }

  /// The frame with the seal that it has as the next frame of this client.
  [[nodiscard]] std::string seal(const std::string& frame) {
    return frame + mac(client_key_, number(client_frames_++, 8) + frame);
  }
  /// The same for the next frame of the server.
  [[nodiscard]] std::string seal_of_server(const std::string& frame) {
    return frame + mac(server_key_, number(server_frames_++, 8) + frame);
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
    const auto end = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < end) {
      pollfd readable{fd_, POLLIN, 0};
      if (::poll(&readable, 1, 50) <= 0) continue;
      const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
      if (got <= 0) return heard;
      heard.append(buffer, static_cast<std::size_t>(got));
    }
    return std::nullopt;
  }

 private:
  static std::string mac(std::string_view key, const std::string& message) {
    const Digest digest = hmac_sha256(key, message);
    return {digest.begin(), digest.end()};
  }

  int fd_;
  bool connected_ = false;
  std::string client_key_;
  std::string server_key_;
  std::uint64_t client_frames_ = 0;
  std::uint64_t server_frames_ = 0;
};

}  // namespace tutti
