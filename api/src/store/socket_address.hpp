#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store/deadline.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti {

/// Where a store listens: "tcp:HOST:PORT", "tcp:[IPV6]:PORT" or "unix:NAME" (a Linux abstract socket).
struct SocketAddress {
  bool is_unix = false;
  std::string host;  ///< the name of the socket when is_unix
  std::uint16_t port = 0;

  /// Throws Error{invalid_argument} that says what is accepted.
  [[nodiscard]] static SocketAddress parse(std::string_view text);
  [[nodiscard]] std::string text() const;
};

/// A non-blocking listening socket; puts the port that was really taken into the address. Throws Error{system} with
/// errno as vendor code.
[[nodiscard]] spi::FileDescriptor listen_at(SocketAddress& address);

/// A connected non-blocking socket, or none and the reason.
struct Connection {
  spi::FileDescriptor socket;
  std::string failure;
};

/// Tries every address that the host has, once each.
[[nodiscard]] Connection connect_to(const SocketAddress& address, Deadline deadline);

/// Makes a tcp connection send small messages at once and notice a host that vanished; leaves a unix one as it is.
void tune_socket(const SocketAddress& address, int socket) noexcept;

}  // namespace tutti
