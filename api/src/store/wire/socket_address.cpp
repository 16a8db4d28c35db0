#include "store/wire/socket_address.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>

#include "settings/settings.hpp"
#include "store/wire/socket_transfer.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/abstract_socket.hpp"

namespace tutti {
namespace {

// Limit per address: an address that drops packets must not use up the time for the others.
constexpr std::chrono::seconds kConnectTime{3};
// A shorter secret can be guessed by trying.
constexpr std::size_t kLeastSecretBytes = 16;

std::string errno_text(int error) { return std::generic_category().message(error); }

[[noreturn]] void throw_bad_address(std::string_view text) {
  throw Error(ErrorCode::invalid_argument, "'" + printable(text) +
                                               "' is not the address of a store; accepted: tcp:HOST:PORT, "
                                               "tcp:[IPV6]:PORT or unix:NAME of up to 107 characters");
}

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// Empty, with the reason in `failure`, if the name cannot be resolved.
AddressList resolve(const SocketAddress& address, std::string& failure) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (code != 0) failure = code == EAI_SYSTEM ? errno_text(errno) : ::gai_strerror(code);
  return {code == 0 ? found : nullptr, &::freeaddrinfo};
}

spi::FileDescriptor open_socket(int family) {
  return spi::FileDescriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// Returns 0 or errno.
int bind_and_listen(const spi::FileDescriptor& socket, const sockaddr* address, socklen_t size) {
  if (!socket) return errno;
  const int on = 1;
  // A job must not have to wait until the connections of an earlier job at the same port have timed out.
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(socket.get(), address, size) != 0 || ::listen(socket.get(), SOMAXCONN) != 0) return errno;
  return 0;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

/// Whether a socket is connected to itself. This happens while nobody listens at a port of this host: the kernel may
/// choose the same port as the local port of the connection.
bool met_itself(int socket) {
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t here_size = sizeof here;
  socklen_t there_size = sizeof there;
  return ::getsockname(socket, reinterpret_cast<sockaddr*>(&here), &here_size) == 0 &&
         ::getpeername(socket, reinterpret_cast<sockaddr*>(&there), &there_size) == 0 && here_size == there_size &&
         std::memcmp(&here, &there, here_size) == 0;
}

Connection connect_one(int family, const sockaddr* address, socklen_t size, Deadline deadline) {
  spi::FileDescriptor socket = open_socket(family);
  if (!socket) return {{}, errno_text(errno)};
  if (::connect(socket.get(), address, size) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return {{}, errno_text(errno)};
    const Deadline limit = std::min(deadline, deadline_after(kConnectTime));
    if (!wait_for(socket.get(), POLLOUT, limit)) return {{}, errno_text(ETIMEDOUT)};
    int error = 0;
    socklen_t length = sizeof error;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
    if (error != 0) return {{}, errno_text(error)};
  }
  if (family != AF_UNIX && met_itself(socket.get())) return {{}, errno_text(ECONNREFUSED)};
  return {std::move(socket), {}};
}

}  // namespace

SocketAddress SocketAddress::parse(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  constexpr std::string_view kTcp = "tcp:";
  if (text.find('\0') != std::string_view::npos) throw_bad_address(text);
  if (text.starts_with(kUnix)) {
    const std::string_view name = text.substr(kUnix.size());
    if (name.empty() || name.size() > spi::AbstractAddress::kLongestName) throw_bad_address(text);
    return {.is_unix = true, .host = std::string(name)};
  }
  const std::size_t colon = text.rfind(':');
  if (!text.starts_with(kTcp) || colon < kTcp.size()) throw_bad_address(text);
  std::string_view host = text.substr(kTcp.size(), colon - kTcp.size());
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    throw_bad_address(text);
  }
  const std::optional<std::uint64_t> port = parse_integer(text.substr(colon + 1));
  if (host.empty() || !port || *port > 65535) throw_bad_address(text);
  return {.is_unix = false, .host = std::string(host), .port = static_cast<std::uint16_t>(*port)};
}

std::string SocketAddress::text() const {
  if (is_unix) return "unix:" + host;
  const bool bracket = host.find(':') != std::string::npos;
  return "tcp:" + (bracket ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

void check_secret(const SocketAddress& address, std::string_view secret) {
  if (address.is_unix || secret.size() >= kLeastSecretBytes) return;
  const std::string given = secret.empty() ? "is not set" : "has " + std::to_string(secret.size()) + " bytes";
  throw Error(ErrorCode::invalid_argument,
              "the secret of the store at " + address.text() + " (TUTTI_JOB_SECRET) " + given +
                  "; tcp: addresses need at least " + std::to_string(kLeastSecretBytes) +
                  " random bytes, the same on all ranks: make them with `openssl rand -hex 32`");
}

spi::FileDescriptor listen_at(SocketAddress& address) {
  int error = 0;
  std::string failure;
  if (address.is_unix) {
    const spi::AbstractAddress name(address.host);
    spi::FileDescriptor socket = open_socket(AF_UNIX);
    error = bind_and_listen(socket, name.pointer(), name.length);
    if (error == 0) return socket;
  } else {
    const AddressList list = resolve(address, failure);
    for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
      spi::FileDescriptor socket = open_socket(entry->ai_family);
      error = bind_and_listen(socket, entry->ai_addr, entry->ai_addrlen);
      if (error != 0) continue;
      address.port = port_of(socket.get());
      return socket;
    }
  }
  if (failure.empty()) failure = errno_text(error);
  throw Error(ErrorCode::system, "the job's store cannot listen at " + address.text() + ": " + failure, {}, error);
}

Connection connect_to(const SocketAddress& address, Deadline deadline) {
  if (address.is_unix) {
    const spi::AbstractAddress name(address.host);
    return connect_one(AF_UNIX, name.pointer(), name.length, deadline);
  }
  Connection last;
  const AddressList list = resolve(address, last.failure);
  for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
    last = connect_one(entry->ai_family, entry->ai_addr, entry->ai_addrlen, deadline);
    if (last.socket) break;
  }
  return last;
}

void tune_socket(const SocketAddress& address, int socket) noexcept {
  if (address.is_unix) return;
  const int on = 1;
  const int idle_seconds = 10;
  const int between_seconds = 5;
  const int probes = 3;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &between_seconds, sizeof between_seconds);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

}  // namespace tutti
