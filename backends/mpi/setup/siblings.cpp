#include "setup/siblings.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace tutti::mpi {
namespace {

/// Connections that nobody accepts stay in the queue.
constexpr int kQueue = 4096;

struct Name {
  sockaddr_un address{};
  socklen_t length = 0;
};

/// In the abstract name space, where names end with their sockets.
Name name_of(const std::string& launcher, int rank) {
  const std::string text = "tutti-mpi-" + launcher + "-" + std::to_string(rank);
  Name name;
  name.address.sun_family = AF_UNIX;
  const std::size_t length = std::min(text.size(), sizeof name.address.sun_path - 1);
  std::memcpy(name.address.sun_path + 1, text.data(), length);
  name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return name;
}

spi::FileDescriptor open_socket() {
  return spi::FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

const sockaddr* generic(const Name& name) { return reinterpret_cast<const sockaddr*>(&name.address); }

}  // namespace

Siblings::Siblings(const Launch& launch, const std::string& launcher) : launcher_(launcher) {
  for (int rank = 0; rank < launch.size; ++rank) {
    if (rank != launch.rank) siblings_.push_back({.rank = rank, .process = {}});
  }
  if (launcher.empty()) return;
  const Name name = name_of(launcher, launch.rank);
  spi::FileDescriptor listener = open_socket();
  // A name that is taken means that the key is not this launcher's alone: then the others cannot be told apart.
  if (!listener || bind(listener.get(), generic(name), name.length) != 0 || listen(listener.get(), kQueue) != 0) return;
  listener_ = std::move(listener);
}

void Siblings::find(Sibling& sibling) const {
  const Name name = name_of(launcher_, sibling.rank);
  const spi::FileDescriptor connection = open_socket();
  if (!connection || connect(connection.get(), generic(name), name.length) != 0) return;
  ucred its{};
  socklen_t length = sizeof its;
  if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &its, &length) != 0) return;
  if (its.uid != geteuid() || its.pid <= 0) return;  // a stranger, or of another name space of processes
  const long process = syscall(SYS_pidfd_open, its.pid, 0);
  sibling.has_ended = process < 0 && errno == ESRCH;
  if (process < 0 && !sibling.has_ended) return;
  sibling.pid = its.pid;
  sibling.process = spi::FileDescriptor(static_cast<int>(process));
}

std::vector<Siblings::Ended> Siblings::wait(int wake, int patience_ms) {
  std::vector<pollfd> files = {{wake, POLLIN, 0}};
  std::vector<Sibling*> polled;
  std::vector<Ended> ended;
  for (Sibling& sibling : siblings_) {
    if (can_see() && sibling.pid == 0) find(sibling);
    if (sibling.process && !sibling.has_ended) {
      files.push_back({sibling.process.get(), POLLIN, 0});
      polled.push_back(&sibling);
    }
    if (sibling.has_ended) ended.push_back({sibling.rank, sibling.pid});
  }
  if (!ended.empty() || poll(files.data(), files.size(), patience_ms) <= 0) return ended;
  for (std::size_t i = 0; i < polled.size(); ++i) {
    if (files[i + 1].revents == 0) continue;
    polled[i]->has_ended = true;
    ended.push_back({polled[i]->rank, polled[i]->pid});
  }
  return ended;
}

std::vector<int> Siblings::unseen() const {
  std::vector<int> ranks;
  for (const Sibling& sibling : siblings_) {
    if (sibling.pid == 0) ranks.push_back(sibling.rank);
  }
  return ranks;
}

}  // namespace tutti::mpi
