// A rank of a job that something happens to; the test that starts it knows what.
//   loop [N] allreduces of N (64) MB for ever; ends with 42 when a peer fails
//   throw    rank 1 throws from user code in the middle of the job
//   segfault rank 1 is hit by a signal
//   exit     rank 1 leaves with code 7 while the others wait for it
//   leave    every rank ends as soon as it has met the others
//   fork     every rank makes a child that ends well, and goes on
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/system/watchdog.hpp"
#include "tutti/tutti.hpp"

namespace {

constexpr int kExitPeerFailure = 42;

[[noreturn]] void loop(const tutti::Communicator& comm, std::size_t megabytes) {
  std::vector<float> data((megabytes << 20) / sizeof(float), 1.0F);
  for (int i = 0;; ++i) {
    comm.allreduce(data, {.op = tutti::Reduction::average});
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
    std::vector<float> data(1000);
    comm.allreduce(data);
  }
}

/// As many programs have it: destroyed when the process ends, children included.
tutti::Communicator the_communicator;
tutti::Work the_work;

/// A sum, by a thread of the communicator's where there is one.
bool sum_is_right() {
  std::vector<float> data(1000, 1.0F);
  the_communicator.allreduce(data, {.async = true}).wait();
  return data == std::vector<float>(data.size(), static_cast<float>(the_communicator.size()));
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
    std::exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
    std::fprintf(stderr, "the child did not end well: %d\n", status);
    return 1;
  }
  the_work.wait();
  // Long enough for the others to notice, had the child told them that this rank leaves.
  usleep(500'000);
  the_communicator.barrier();
  if (!sum_is_right()) return 1;
  std::puts("the job went on");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  tutti::test::arm_watchdog(60);
  const std::string_view how = argc > 1 ? argv[1] : "";
  if (how == "fork") return fork_and_go_on();
  if (how != "loop") {
    const tutti::Communicator comm = tutti::world();
    if (how == "leave") return 0;
    // An exception nobody catches ends the program, as it would a user's.
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
