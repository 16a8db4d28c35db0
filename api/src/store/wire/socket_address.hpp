#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store/deadline.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti {

/// Address of a store: "tcp:HOST:PORT", "tcp:[IPV6]:PORT" or "unix:NAME" (a Linux abstract socket).
struct SocketAddress {
  bool is_unix = false;
  std::string host;  ///< the name of the socket when is_unix
  std::uint16_t port = 0;

  /// Throws Error{invalid_argument} that lists the accepted forms.
  [[nodiscard]] static SocketAddress parse(std::string_view text);
  [[nodiscard]] std::string text() const;
};

/// Throws Error{invalid_argument} if a store at this address needs a secret, or a longer one: whoever reaches a tcp
/// port can guess. The kernel checks the users of a unix socket.
void check_secret(const SocketAddress& address, std::string_view secret);

/// Opens a non-blocking listening socket and sets address.port to the actual port. Throws Error{system} with errno as
/// vendor code.
[[nodiscard]] spi::FileDescriptor listen_at(SocketAddress& address);

/// A connected non-blocking socket, or the reason why there is none.
struct Connection {
  spi::FileDescriptor socket;
  std::string failure;
};

/// Tries each address of the host once.
[[nodiscard]] Connection connect_to(const SocketAddress& address, Deadline deadline);

/// Makes a tcp connection send small messages immediately and detect a vanished host; does nothing for a unix socket.
void tune_socket(const SocketAddress& address, int socket) noexcept;

}  // namespace tutti
