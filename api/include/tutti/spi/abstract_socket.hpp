#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace tutti::spi {

/// Address of a Linux abstract socket: it has no file and disappears with the socket.
struct AbstractAddress {
  /// Maximum length of a name.
  static constexpr std::size_t kLongestName = sizeof(sockaddr_un::sun_path) - 1;

  /// Throws std::length_error if the name is longer than kLongestName.
  explicit AbstractAddress(std::string_view name) {
    if (name.size() > kLongestName) throw std::length_error("name of an abstract socket is longer than 107 characters");
    value.sun_family = AF_UNIX;
    // A leading null character makes the name abstract.
    std::memcpy(value.sun_path + 1, name.data(), name.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  [[nodiscard]] const sockaddr* pointer() const noexcept { return reinterpret_cast<const sockaddr*>(&value); }

  sockaddr_un value{};
  socklen_t length = 0;
};

/// Whether the process at the other end of the connection belongs to this user, according to the kernel.
[[nodiscard]] inline bool is_of_same_user(int connection) noexcept {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == ::geteuid();
}

}  // namespace tutti::spi
