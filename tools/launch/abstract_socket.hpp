#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string>

namespace tutti::tools {

/// The address of a Linux abstract socket: no file that could be left behind. Needs nothing but the operating system.
struct AbstractAddress {
  sockaddr_un value{};
  socklen_t length = 0;

  /// Throws std::length_error.
  explicit AbstractAddress(const std::string& name) {
    value.sun_family = AF_UNIX;
    if (name.size() + 1 > sizeof value.sun_path) throw std::length_error("socket name too long: " + name);
    // A leading null character makes it an abstract name.
    std::memcpy(value.sun_path + 1, name.data(), name.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  [[nodiscard]] const sockaddr* pointer() const noexcept { return reinterpret_cast<const sockaddr*>(&value); }
};

/// Whether the other end of the connection was opened by this user, as the kernel knows it.
inline bool is_of_same_user(int connection) noexcept {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

}  // namespace tutti::tools
