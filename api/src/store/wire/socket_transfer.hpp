#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "store/deadline.hpp"

namespace tutti {

/// Waits for the events of poll(); returns false if the deadline passes first. An error of the socket counts as an
/// event: the send or recv that follows tells the reason.
[[nodiscard]] bool wait_for(int socket, short events, Deadline deadline);

enum class Transfer : std::uint8_t { done, late, closed };

/// For non-blocking sockets.
[[nodiscard]] Transfer send_all(int socket, std::string_view bytes, Deadline deadline);
/// Fills the whole string.
[[nodiscard]] Transfer receive_all(int socket, std::string& bytes, Deadline deadline);

}  // namespace tutti
