// A rank of a job in which something fails. The argument selects the failure:
//   loop [N] runs allreduces of N (64) MB until the test kills a rank; exits with 42 when a peer fails
//   throw    rank 1 throws from user code in the middle of the job
//   segfault rank 1 raises SIGSEGV
//   exit     rank 1 exits with code 7 while the others wait for it
//   leave    every rank exits as soon as it has its communicator
//   fork     every rank forks a child that exits with 0, and continues
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

}  // namespace

int main(int argc, char** argv) {
  tutti::test::arm_watchdog(60);
  const std::string_view how = argc > 1 ? argv[1] : "";
  if (how == "fork") return fork_and_go_on();
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
