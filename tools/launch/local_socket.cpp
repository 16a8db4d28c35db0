#include "launch/local_socket.hpp"

#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "text/terminal.hpp"
#include "text/text.hpp"
#include "tutti/error.hpp"
#include "tutti/rendezvous.hpp"
#include "tutti/spi/abstract_socket.hpp"

namespace tutti::tools {
namespace {

Error socket_error(const std::string& what) {
  return Error(ErrorCode::system, concat(what, ": ", std::strerror(errno)));
}

}  // namespace

std::uint16_t free_loopback_port() noexcept {
  const spi::FileDescriptor probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const place = reinterpret_cast<sockaddr*>(&address);
  if (!probe || bind(probe.get(), place, size) != 0 || getsockname(probe.get(), place, &size) != 0) return 0;
  return ntohs(address.sin_port);
}

LineServer::LineServer(EventLoop& loop, Handler handler, std::function<void(int)> closed)
    : loop_(loop),
      handler_(std::move(handler)),
      closed_(std::move(closed)),
      name_("tutti-" + make_secret().substr(0, 32)),
      listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const spi::AbstractAddress address(name_);
  if (!listener_ || bind(listener_.get(), address.pointer(), address.length) != 0 ||
      listen(listener_.get(), 1024) != 0) {
    throw socket_error("cannot listen on a local socket");
  }
  loop_.watch(listener_.get(), [this] { accept_peers(); });
}

LineServer::~LineServer() {
  loop_.forget(listener_.get());
  for (const auto& [number, connection] : connections_) loop_.forget(number);
}

void LineServer::accept_peers() {
  for (;;) {
    spi::FileDescriptor peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer) return;
    if (!spi::is_of_same_user(peer.get())) continue;
    const int number = peer.get();
    connections_[number].descriptor = std::move(peer);
    loop_.watch(number, [this, number] { read_from(number); });
  }
}

void LineServer::read_from(int peer) {
  const auto found = connections_.find(peer);
  if (found == connections_.end()) return;
  std::array<char, 65536> bytes{};
  for (;;) {
    const ssize_t count = read(peer, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      loop_.forget(peer);
      connections_.erase(found);
      closed_(peer);
      return;
    }
    std::string& pending = found->second.pending;
    pending.append(bytes.data(), static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = pending.find('\n', begin)) != std::string::npos; begin = end + 1) {
      handler_(peer, std::string_view(pending).substr(begin, end - begin));
    }
    pending.erase(0, begin);
  }
}

void LineServer::drain() {
  accept_peers();
  std::vector<int> peers;
  for (const auto& [number, connection] : connections_) peers.push_back(number);
  for (const int peer : peers) read_from(peer);
}

void LineServer::send_descriptors(int peer, std::array<int, 2> descriptors) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof descriptors)> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptors);
  std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof descriptors);
  // If the peer is gone, reading its connection shows it.
  [[maybe_unused]] const ssize_t sent = sendmsg(peer, &message, MSG_NOSIGNAL);
}

LineClient::LineClient(const std::string& name) : descriptor_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const spi::AbstractAddress address(name);
  if (!descriptor_ || connect(descriptor_.get(), address.pointer(), address.length) != 0) {
    throw socket_error("cannot reach the tutti command that started this rank");
  }
}

bool LineClient::send(const std::string& line) {
  const std::string text = line + "\n";
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t count = ::send(descriptor_.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    left.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

std::array<spi::FileDescriptor, 2> LineClient::receive_descriptors() {
  std::array<int, 2> numbers{-1, -1};
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof numbers)> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t count = 0;
  do {
    count = recvmsg(descriptor_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (count != 1 || header == nullptr || header->cmsg_type != SCM_RIGHTS ||
      header->cmsg_len != CMSG_LEN(sizeof numbers)) {
    throw Error(ErrorCode::system, "lost the connection to the tutti command that started this rank");
  }
  std::memcpy(numbers.data(), CMSG_DATA(header), sizeof numbers);
  return {spi::FileDescriptor(numbers[0]), spi::FileDescriptor(numbers[1])};
}

}  // namespace tutti::tools
