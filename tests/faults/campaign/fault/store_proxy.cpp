#include "faults/campaign/fault/store_proxy.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "support/data/pattern.hpp"

namespace tutti::test::campaign {
namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

int port_of(int socket) {
  sockaddr_in address{};
  socklen_t length = sizeof(address);
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.sin_port);
}

bool bind_to(int socket, int port) {
  const sockaddr_in address = loopback(port);
  return bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

bool unix_name_is_free(int port) {
  const std::string name = "tutti-" + std::to_string(geteuid()) + "-" + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const bool free = bind(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0;
  close(socket);
  return free;
}

/// A connection of a rank and the one to the store behind it.
struct Pair {
  std::array<int, 2> ends = {-1, -1};            ///< the rank, the store
  std::array<std::uint64_t, 2> passed = {0, 0};  ///< bytes read from that end
};

class Forwarder {
 public:
  Forwarder(int listener, Damage damage, int server_port)
      : listener_(listener), damage_(std::move(damage)), server_port_(server_port) {}

  [[noreturn]] void run() {
    if (damage_.kind == "stranger") visit();
    for (;;) {
      std::vector<pollfd> files = {{listener_, POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        for (const int end : pair.ends) files.push_back({end, POLLIN, 0});
      }
      if (poll(files.data(), files.size(), -1) < 0) continue;
      for (std::size_t i = 1; i < files.size(); ++i) {
        if (files[i].revents != 0) pass_on((i - 1) / 2, (i - 1) % 2);
      }
      if (files[0].revents != 0) admit();
    }
  }

 private:
  int connect_to_server() const {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(server_port_);
    // The store opens a little later than the first rank knocks.
    for (int attempt = 0; attempt < 5000; ++attempt) {
      if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return socket;
      usleep(1000);
    }
    close(socket);
    return -1;
  }

  void admit() {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const int server = connect_to_server();
    if (server < 0) {
      close(client);
      return;
    }
    pairs_.push_back({{client, server}, {0, 0}});
  }

  /// A stranger sends random bytes to the store and stays connected.
  void visit() {
    const int socket = connect_to_server();
    Random random(damage_.at);
    std::array<char, 256> noise;
    for (char& c : noise) c = static_cast<char>(random());
    if (socket >= 0) (void)!send(socket, noise.data(), 1 + damage_.at % noise.size(), MSG_NOSIGNAL);
  }

  void close_pair(Pair& pair) {
    for (int& end : pair.ends) {
      if (end >= 0) close(end);
      end = -1;
    }
  }

  void pass_on(std::size_t connection, std::size_t from) {
    Pair& pair = pairs_[connection];
    if (pair.ends[from] < 0) return;
    std::array<char, 4096> bytes;
    const ssize_t got = read(pair.ends[from], bytes.data(), bytes.size());
    if (got <= 0) return close_pair(pair);
    auto length = static_cast<std::size_t>(got);
    const std::uint64_t first = pair.passed[from];
    pair.passed[from] += length;
    if (damage_.kind == "delay") usleep(2000);
    const bool is_damaged = connection == damage_.connection && (from == 0) == damage_.to_server;
    const bool reaches = first + length > damage_.at;
    if (is_damaged && damage_.kind == "silent" && reaches) return;
    if (is_damaged && reaches && first <= damage_.at) {
      if (damage_.kind == "flip") bytes[damage_.at - first] ^= static_cast<char>(1u << damage_.bit);
      if (damage_.kind == "cut") length = damage_.at - first;
    }
    for (std::size_t sent = 0; sent < length;) {
      const ssize_t count = send(pair.ends[1 - from], bytes.data() + sent, length - sent, MSG_NOSIGNAL);
      if (count <= 0) return close_pair(pair);
      sent += static_cast<std::size_t>(count);
    }
    if (is_damaged && reaches && damage_.kind == "cut") close_pair(pair);
  }

  int listener_;
  Damage damage_;
  int server_port_;
  std::vector<Pair> pairs_;
};

}  // namespace

StoreProxy::StoreProxy(const Damage& damage, int server_port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || !bind_to(listener, 0) || listen(listener, 64) != 0) {
    throw std::runtime_error("the proxy of the store cannot listen: " + std::string(std::strerror(errno)));
  }
  port_ = port_of(listener);
  process_ = fork();
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
    Forwarder(listener, damage, server_port).run();
  }
  close(listener);
}

StoreProxy::~StoreProxy() {
  if (process_ <= 0) return;
  kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
}

int free_port() {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool bound = bind_to(socket, 0);
    const int port = port_of(socket);
    close(socket);
    if (bound && unix_name_is_free(port)) return port;
  }
  throw std::runtime_error("no free port on 127.0.0.1");
}

}  // namespace tutti::test::campaign
