#include "store/wire/socket_transfer.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace tutti {
namespace {

constexpr std::chrono::milliseconds kPauseAfterFailure{10};

}  // namespace

bool wait_for(int socket, short events, Deadline deadline) {
  pollfd ready{socket, events, 0};
  while (true) {
    const int count = ::poll(&ready, 1, poll_timeout(deadline));
    if (count > 0) return true;
    const int error = errno;
    if (Clock::now() >= deadline) return false;
    // Without memory, or under a limit of descriptors, poll() fails at once, and may succeed again soon.
    if (count < 0 && error != EINTR) std::this_thread::sleep_for(kPauseAfterFailure);
  }
}

Transfer send_all(int socket, std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(socket, POLLOUT, deadline)) return Transfer::late;
    } else if (errno != EINTR) {
      return Transfer::closed;
    }
  }
  return Transfer::done;
}

Transfer receive_all(int socket, std::string& bytes, Deadline deadline) {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::recv(socket, bytes.data() + filled, bytes.size() - filled, 0);
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!wait_for(socket, POLLIN, deadline)) return Transfer::late;
    } else if (got == 0 || errno != EINTR) {
      return Transfer::closed;
    }
  }
  return Transfer::done;
}

}  // namespace tutti
