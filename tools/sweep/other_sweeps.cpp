#include "sweep/other_sweeps.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "text/text.hpp"
#include "tutti/spi/abstract_socket.hpp"

namespace tutti::tools {
namespace {

constexpr std::string_view kPrefix = "tutti-sweep-";
constexpr int kBacklog = 64;

/// 0 for a process in a container with process numbers of its own.
pid_t peer_of(int connection) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.pid : 0;
}

/// Names of the sockets of all sweeps; "@" stands for the null character with which abstract names begin.
std::vector<std::string> listening_sweeps() {
  std::vector<std::string> names;
  std::ifstream table("/proc/net/unix");
  const std::string marked = concat('@', kPrefix);
  for (std::string line; std::getline(table, line);) {
    const std::size_t begin = line.find(marked);
    if (begin == std::string::npos) continue;
    // Connections that were accepted have the name, too.
    if (std::string name = line.substr(begin + 1); std::ranges::find(names, name) == names.end())
      names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

OtherSweeps::OtherSweeps(EventLoop& loop)
    : loop_(loop),
      name_(concat(kPrefix, getpid())),
      listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const spi::AbstractAddress address(name_);
  const bool listens = listener_ && bind(listener_.get(), address.pointer(), address.length) == 0 &&
                       listen(listener_.get(), kBacklog) == 0;
  if (!listens) {
    listener_ = {};
    return;
  }
  loop_.watch(listener_.get(), [this] { accept_later(); });
  find_earlier();
}

OtherSweeps::~OtherSweeps() {
  if (listener_) loop_.forget(listener_.get());
}

void OtherSweeps::find_earlier() {
  for (const std::string& name : listening_sweeps()) {
    if (name == name_ || name.size() > spi::AbstractAddress::kLongestName) continue;
    const spi::FileDescriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const spi::AbstractAddress address(name);
    if (!connection || connect(connection.get(), address.pointer(), address.length) != 0) continue;
    processes_.push_back(peer_of(connection.get()));
  }
}

void OtherSweeps::accept_later() {
  for (;;) {
    const spi::FileDescriptor connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) return;
    const pid_t process = peer_of(connection.get());
    if (std::ranges::find(processes_, process) == processes_.end()) processes_.push_back(process);
  }
}

}  // namespace tutti::tools
