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
#include <utility>

namespace tutti::mpi {
namespace {

/// Ranks of a host that may come before this one looks.
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

Siblings::Siblings(const Launch& launch, const std::string& launcher) : launcher_(launcher), rank_(launch.rank) {
  for (int rank = 0; rank < launch.size; ++rank) {
    if (rank != launch.rank) siblings_.push_back({.rank = rank, .process = {}});
  }
  if (launcher.empty()) return;
  const Name name = name_of(launcher, launch.rank);
  spi::FileDescriptor listener = open_socket();
  // A name that is taken means that the key is not this launcher's alone: then the others cannot be told apart.
  if (!listener || bind(listener.get(), generic(name), name.length) != 0 || listen(listener.get(), kQueue) != 0) return;
  listener_ = std::move(listener);
  // Before this rank can fail: of two ranks the later one sees the earlier one here, and is heard by it.
  for (Sibling& sibling : siblings_) find(sibling);
}

void Siblings::find(Sibling& sibling) const {
  const Name name = name_of(launcher_, sibling.rank);
  const spi::FileDescriptor connection = open_socket();
  if (!connection || connect(connection.get(), generic(name), name.length) != 0) return;
  (void)send(connection.get(), &rank_, sizeof rank_, MSG_NOSIGNAL);
  sibling.watch(connection);
}

void Siblings::Sibling::watch(const spi::FileDescriptor& connection) {
  ucred its{};
  socklen_t length = sizeof its;
  if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &its, &length) != 0) return;
  if (its.uid != geteuid() || its.pid <= 0) return;  // a stranger, or of another name space of processes
  const long descriptor = syscall(SYS_pidfd_open, its.pid, 0);
  has_ended = descriptor < 0 && errno == ESRCH;
  if (descriptor < 0 && !has_ended) return;
  pid = its.pid;
  process = spi::FileDescriptor(static_cast<int>(descriptor));
}

/// Whether the rank at the other end has said its number, or never will.
bool Siblings::hear(const spi::FileDescriptor& connection) {
  int rank = -1;
  const ssize_t count = recv(connection.get(), &rank, sizeof rank, 0);
  if (count < 0 && errno == EAGAIN) return false;
  const auto sibling = std::ranges::find(siblings_, rank, &Sibling::rank);
  const bool is_news = count == sizeof rank && sibling != siblings_.end() && sibling->pid == 0;
  if (is_news) sibling->watch(connection);
  return true;
}

void Siblings::hear_arrivals() {
  while (true) {
    spi::FileDescriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) break;
    arriving_.push_back(std::move(connection));
  }
  std::erase_if(arriving_, [this](const auto& connection) { return hear(connection); });
}

std::vector<Siblings::Ended> Siblings::wait(int wake, int patience_ms) {
  std::vector<Ended> ended;
  if (can_see()) hear_arrivals();
  std::vector<pollfd> files = {{wake, POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  const std::size_t first = files.size();
  std::vector<Sibling*> polled;
  for (Sibling& sibling : siblings_) {
    if (can_see() && sibling.pid == 0) find(sibling);
    if (sibling.has_ended) ended.push_back({sibling.rank, sibling.pid});
    if (!sibling.process || sibling.has_ended) continue;
    files.push_back({sibling.process.get(), POLLIN, 0});
    polled.push_back(&sibling);
  }
  if (!ended.empty() || poll(files.data(), files.size(), patience_ms) <= 0) return ended;
  for (std::size_t i = 0; i < polled.size(); ++i) {
    if (files[first + i].revents == 0) continue;
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
