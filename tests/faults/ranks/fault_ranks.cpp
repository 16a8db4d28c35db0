// A rank of a job that something happens to; the test that starts it knows what.
//   loop [N] allreduces of N (64) MB for ever; ends with 42 when a peer fails
//   throw    rank 1 throws from user code in the middle of the job
//   segfault rank 1 is hit by a signal
//   exit     rank 1 leaves with code 7 while the others wait for it
//   leave    every rank ends as soon as it has met the others
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/watchdog.hpp"
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

}  // namespace

int main(int argc, char** argv) {
  tutti::test::arm_watchdog(60);
  const std::string_view how = argc > 1 ? argv[1] : "";
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
