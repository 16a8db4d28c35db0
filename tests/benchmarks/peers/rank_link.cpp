#include "rank_link.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tutti/spi/abstract_socket.hpp"

namespace tutti::bench {
namespace {

LinkError system_error(const std::string& what) { return {what + ": " + std::strerror(errno)}; }

}  // namespace

RankLink::RankLink(const std::string& name) : descriptor_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const spi::AbstractAddress address(name);
  if (descriptor_ < 0 || connect(descriptor_, address.pointer(), address.length) != 0) {
    throw system_error("cannot connect to the benchmark's socket @" + name);
  }
}

RankLink::RankLink(RankLink&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), pending_(std::move(other.pending_)) {}

RankLink& RankLink::operator=(RankLink&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(pending_, other.pending_);
  return *this;
}

RankLink::~RankLink() {
  if (descriptor_ >= 0) close(descriptor_);
}

void RankLink::send(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  std::string_view left = text;
  while (!left.empty()) {
    const ssize_t count = ::send(descriptor_, left.data(), left.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw system_error("cannot send to the other end of the link");
    left.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::optional<std::string> RankLink::take_line() {
  const std::size_t end = pending_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  return line;
}

bool RankLink::read_some(bool wait) {
  std::array<char, 65536> bytes;
  for (;;) {
    const ssize_t count = recv(descriptor_, bytes.data(), bytes.size(), wait ? 0 : MSG_DONTWAIT);
    if (count > 0) {
      pending_.append(bytes.data(), static_cast<std::size_t>(count));
      return true;
    }
    if (count == 0) throw LinkError{"the other end closed the link"};
    if (errno == EAGAIN) return false;
    if (errno != EINTR) throw system_error("cannot receive from the other end of the link");
  }
}

std::string RankLink::receive() {
  for (;;) {
    if (auto line = take_line()) return *std::move(line);
    (void)read_some(true);
  }
}

std::optional<std::string> RankLink::poll() {
  for (;;) {
    if (auto line = take_line()) return line;
    if (!read_some(false)) return std::nullopt;
  }
}

RankListener::RankListener(std::string name)
    : name_(std::move(name)), descriptor_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const spi::AbstractAddress address(name_);
  if (descriptor_ < 0 || bind(descriptor_, address.pointer(), address.length) != 0 || listen(descriptor_, 64) != 0) {
    throw system_error("cannot listen on the local socket @" + name_);
  }
}

RankListener::~RankListener() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<RankLink> RankListener::accept() {
  for (;;) {
    const int descriptor = accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC);
    if (descriptor < 0) return std::nullopt;
    RankLink link(descriptor);
    if (spi::is_of_same_user(descriptor)) return link;
  }
}

}  // namespace tutti::bench
