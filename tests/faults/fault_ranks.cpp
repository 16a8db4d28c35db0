// A rank of a job in which something fails. The argument selects the failure:
//   loop [N] runs allreduces of N (64) MB until the test kills a rank; exits with 42 when a peer fails
//   throw    rank 1 throws from user code in the middle of the job
//   segfault rank 1 raises SIGSEGV
//   exit     rank 1 exits with code 7 while the others wait for it
//   leave    every rank exits as soon as it has its communicator
//   fork     every rank forks a child that exits with 0, and continues
//   ports    every rank exits with 1 if it listens on a network interface besides the loopback
//   short    rank 0 sends shorter messages than rank 1 expects
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/system/watchdog.hpp"
#include "tutti/tutti.hpp"

namespace {

constexpr int kExitPeerFailure = 42;

/// Ends the process when a result is wrong: no test expects this exit code.
void require_all(const std::vector<float>& data, float expected) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] == expected) continue;
    std::fprintf(stderr, "wrong result: element %zu is %g, expected %g\n", i, static_cast<double>(data[i]),
                 static_cast<double>(expected));
    std::_Exit(99);
  }
}

[[noreturn]] void loop(const tutti::Communicator& comm, std::size_t megabytes) {
  std::vector<float> data((megabytes << 20) / sizeof(float), 1.0F);
  for (int i = 0;; ++i) {
    comm.allreduce(data, {.op = tutti::Reduction::average});
    require_all(data, 1.0F);
    if (i == 2) {
      std::puts("in the middle");
      std::fflush(stdout);
    }
  }
}

void misbehave(const tutti::Communicator& comm, std::string_view how) {
  for (int i = 0; i < 50; ++i) {
    if (comm.rank() == 1 && i == 20) {
      if (how == "throw") throw std::logic_error("the user's code gave up");
      if (how == "segfault") std::raise(SIGSEGV);
      if (how == "exit") std::exit(7);
    }
    std::vector<float> data(1000, 1.0F);
    comm.allreduce(data);
    require_all(data, static_cast<float>(comm.size()));
  }
}

/// Global, as in many programs: destroyed at the exit of the process, also at the exit of a forked child.
tutti::Communicator the_communicator;
tutti::Work the_work;

/// Checks an asynchronous sum; the progress thread carries it out if there is one.
bool sum_is_right() {
  std::vector<float> data(1000, 1.0F);
  the_communicator.allreduce(data, {.async = true}).wait();
  return data == std::vector<float>(data.size(), static_cast<float>(the_communicator.size()));
}

template <typename Call>
bool is_refused(const Call& call) {
  try {
    call();
  } catch (const tutti::Error& error) {
    return error.code() == tutti::ErrorCode::invalid_usage && std::strstr(error.what(), "forked") != nullptr;
  }
  return false;
}

/// In a forked child: whether every use of the parent's communicator is refused.
bool child_is_refused() {
  std::vector<float> data(1000, 1.0F);
  const tutti::Communicator& comm = the_communicator;
  const bool refused =
      is_refused([&] { comm.allreduce(data); }) && is_refused([&] { (void)comm.allreduce(data, {.async = true}); }) &&
      is_refused([&] { comm.barrier(); }) && is_refused([&] { (void)comm.duplicate(); }) &&
      is_refused([&] { comm.group([&] { comm.allreduce(data); }); }) && is_refused([&] { the_work.wait(); });
  comm.abort();  // of no effect on the parent
  return refused;
}

int fork_and_go_on() {
  the_communicator = tutti::world();
  std::vector<float> data(1000, 1.0F);
  if (!sum_is_right()) return 1;
  the_work = the_communicator.allreduce(data, {.async = true});
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    tutti::test::arm_watchdog(20);
    std::exit(child_is_refused() ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    std::fprintf(stderr, "the forked child failed: wait status %d\n", status);
    return 1;
  }
  the_work.wait();
  // If the exit of the child told the others that this rank is leaving, they notice it within this time.
  usleep(500'000);
  the_communicator.barrier();
  if (!sum_is_right()) return 1;
  std::puts("the job went on");
  return 0;
}

/// Inodes of the sockets of this process.
std::set<std::string> own_sockets() {
  std::set<std::string> inodes;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string target = std::filesystem::read_symlink(entry.path(), ignored).string();
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

/// Local addresses, as in /proc/net/tcp, on which one of the sockets listens; those of the loopback left out.
std::vector<std::string> open_ports(const std::set<std::string>& sockets) {
  std::vector<std::string> open;
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::ifstream file(table);
    for (std::string line; std::getline(file, line);) {
      std::istringstream fields(line);
      std::string number, local, remote, state, queues, timer, retries, user, timeout, inode;
      fields >> number >> local >> remote >> state >> queues >> timer >> retries >> user >> timeout >> inode;
      const bool is_loopback = local.starts_with("0100007F:") || local.starts_with("00000000000000000000000001000000:");
      if (state == "0A" && !is_loopback && sockets.contains(inode)) open.push_back(local);
    }
  }
  return open;
}

int look_at_ports() {
  const std::set<std::string> inherited = own_sockets();
  the_communicator = tutti::world();
  if (!sum_is_right()) return 1;
  std::set<std::string> sockets = own_sockets();
  for (const std::string& inode : inherited) sockets.erase(inode);
  const std::vector<std::string> open = open_ports(sockets);
  for (const std::string& address : open) std::fprintf(stderr, "rank listens on %s\n", address.c_str());
  the_communicator.barrier();
  if (open.empty()) std::printf("rank %d with %zu sockets has no open port\n", the_communicator.rank(), sockets.size());
  return open.empty() ? 0 : 1;
}

/// Rank 0 sends half of what rank 1 expects, in every way to receive; the communicator stays usable.
int receive_short_messages() {
  const tutti::Communicator comm = tutti::world();
  std::vector<float> data(200, static_cast<float>(comm.rank()));
  const std::span<float> half(data.data(), 100);
  const auto refused = [&](const char* way, const auto& receive) {
    if (comm.rank() == 0) {
      comm.send(half, 1);
      return true;
    }
    try {
      receive();
    } catch (const tutti::Error& error) {
      const bool right = error.code() == tutti::ErrorCode::invalid_usage &&
                         std::strstr(error.what(), "rank 0 sent 400 B, 800 B were expected") != nullptr;
      if (!right) std::fprintf(stderr, "%s: %s\n", way, error.what());
      return right;
    }
    std::fprintf(stderr, "%s: the short message was accepted\n", way);
    return false;
  };
  bool right = refused("recv", [&] { comm.recv(data, 0); });
  right = refused("asynchronous recv", [&] { comm.recv(data, 0, {.async = true}).wait(); }) && right;
  right = refused("recv with timeout", [&] { comm.recv(data, 0, {.timeout = std::chrono::minutes(1)}); }) && right;
  right = refused("recv in a group", [&] { comm.group([&] { comm.recv(data, 0); }); }) && right;
  // Three requests: the error is thrown when all of them are complete.
  std::vector<float> other(100, -1);
  const std::vector<float> mine(100, static_cast<float>(comm.rank()));
  right = refused("recv beside others",
                  [&] {
                    comm.group([&] {
                      comm.recv(data, 0);
                      comm.recv(other, 0);
                      comm.send(mine, 0);
                    });
                  }) &&
          right;
  if (comm.rank() == 0) {
    comm.group([&] {
      comm.send(mine, 1);
      comm.recv(other, 1);
    });
  }
  right = other.back() == (comm.rank() == 0 ? 1.0F : 0.0F) && right;
  comm.barrier();
  if (right) std::printf("rank %d: short messages are refused\n", comm.rank());
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  tutti::test::arm_watchdog(60);
  const std::string_view how = argc > 1 ? argv[1] : "";
  if (how == "fork") return fork_and_go_on();
  if (how == "ports") return look_at_ports();
  if (how == "short") return receive_short_messages();
  if (how != "loop") {
    const tutti::Communicator comm = tutti::world();
    if (how == "leave") return 0;
    // As in a user's program, an uncaught exception ends the process.
    misbehave(comm, how);
    return 0;
  }
  try {
    const tutti::Communicator comm = tutti::world();
    loop(comm, argc > 2 ? std::stoul(argv[2]) : 64);
  } catch (const tutti::Error& error) {
    std::fprintf(stderr, "%s: %s\n", std::string(name(error.code())).c_str(), error.what());
    return error.code() == tutti::ErrorCode::peer_failure ? kExitPeerFailure : 1;
  }
}
