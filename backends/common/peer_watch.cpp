#include "common/peer_watch.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string>

namespace tutti::common {
namespace {

/// Identifies the namespace of this process's number; empty when it is not known.
std::string process_namespace() {
  std::array<char, 64> text = {};
  const ssize_t length = readlink("/proc/self/ns/pid", text.data(), text.size());
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : std::string();
}

}  // namespace

PeerWatch::PeerWatch(const Rendezvous& rendezvous, const spi::Peers& peers) {
  const auto spaces = rendezvous.allgather("processes", process_namespace());
  const auto self = static_cast<std::size_t>(peers.rank);
  for (std::size_t rank = 0; rank < spaces.size(); ++rank) {
    const bool is_here =
        peers.hosts[rank] == peers.hosts[self] && spaces[rank] == spaces[self] && !spaces[rank].empty();
    if (!is_here || peers.pids[rank] == 0 || peers.pids[rank] == peers.pids[self]) continue;
    // A pidfd means the same process even if its number is reused. A kernel without pidfd_open watches no process.
    const long descriptor = syscall(SYS_pidfd_open, static_cast<pid_t>(peers.pids[rank]), 0);
    if (descriptor >= 0) watched_.push_back({static_cast<int>(rank), static_cast<int>(descriptor)});
  }
}

PeerWatch::~PeerWatch() {
  for (const Watched& one : watched_) close(one.descriptor);
}

std::optional<int> PeerWatch::find_gone() const noexcept {
  for (const Watched& one : watched_) {
    pollfd entry{one.descriptor, POLLIN, 0};
    if (poll(&entry, 1, 0) == 1) return one.rank;
  }
  return std::nullopt;
}

}  // namespace tutti::common
