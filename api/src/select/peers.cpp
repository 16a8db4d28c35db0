#include "select/peers.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <sstream>

#include "store/wire/authentication.hpp"
#include "tutti/placement.hpp"

namespace tutti {
namespace {

/// Equal for processes that can share memory: the boot of the kernel and the host name (which containers that act as
/// hosts of their own have set differently).
std::string host_key() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + "/" + boot;
}

/// Tells this process from others with the same number in another pid namespace.
const std::string& process_token() {
  static const std::string token = make_secret().substr(0, 16);
  return token;
}

}  // namespace

spi::Peers meet(const Rendezvous& rendezvous, const std::string& card, std::vector<std::string>& cards) {
  spi::Peers peers;
  peers.rank = rendezvous.rank();
  peers.size = rendezvous.size();
  // "NODE PID TOKEN HOST", on a line of its own the card. A forked child has its parent's token but another number.
  // Threads of a process may be bound to different nodes.
  const std::string mine = std::to_string(getpid()) + " " + process_token() + " " + host_key();
  auto hellos = rendezvous.allgather("hello", std::to_string(current_numa_node()) + " " + mine + "\n" + card);
  cards.clear();
  for (std::string& hello : hellos) {
    const std::size_t end = std::min(hello.find('\n'), hello.size());
    cards.push_back(hello.substr(std::min(end + 1, hello.size())));
    hello.resize(end);
  }
  const auto process_of = [](const std::string& hello) { return hello.substr(hello.find(' ') + 1); };
  for (const std::string& hello : hellos) {
    std::istringstream fields(hello);
    int node = -1;
    std::int64_t pid = 0;
    std::string token;
    std::string host;
    fields >> node >> pid >> token >> host;
    peers.pids.push_back(pid == getpid() && process_of(hello) != mine ? 0 : pid);
    peers.hosts.push_back(host);
    peers.numa_nodes.push_back(node);
    peers.same_host = peers.same_host && peers.hosts.back() == peers.hosts.front();
    peers.same_process = peers.same_process && process_of(hello) == process_of(hellos.front());
  }
  return peers;
}

}  // namespace tutti
