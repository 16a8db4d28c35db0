// A rank of a job on a backend whose library does not notice that another rank is missing. Rank 1 misbehaves after some
// rounds, in the way of the first argument; the others print their error and exit with 42:
//   kill     ends by SIGKILL
//   exit     exits without destroying its communicator
//   throw    throws; its communicator is destroyed by unwinding
//   abort    aborts the communicator
//   late     does not come in time, but when the others have given up
// The second argument is the way in which the others wait: allreduce, work (an asynchronous operation), ring (messages)
// or average (an operation that tutti may build of others).
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/system/watchdog.hpp"
#include "tutti/info/progress.hpp"
#include "tutti/tutti.hpp"

namespace {

using namespace std::chrono_literals;

constexpr int kExitFailure = 42;
constexpr int kExitWrong = 99;
constexpr float kPoison = -7.0F;

/// Whether all other ranks of the job have failed, as their processes show it.
bool have_others_failed(int size) {
  const std::vector<tutti::ProcessProgress> processes = tutti::read_progress();
  std::string job;
  for (const auto& process : processes) {
    if (process.pid == getpid() && !process.communicators.empty()) job = process.communicators.front().job;
  }
  int failed = 0;
  for (const auto& process : processes) {
    failed += process.pid != getpid() && std::ranges::any_of(process.communicators, [&](const auto& one) {
                return one.job == job && one.stage == tutti::CommunicatorStage::failed;
              });
  }
  return failed == size - 1;
}

void misbehave(const tutti::Communicator& comm, std::string_view how) {
  if (how == "kill") std::raise(SIGKILL);
  if (how == "exit") _exit(3);
  if (how == "throw") throw std::logic_error("the user's code gave up");
  if (how == "abort") comm.abort();
  while (how == "late" && !have_others_failed(comm.size())) std::this_thread::sleep_for(10ms);
}

void require(bool right, const char* text) {
  if (right) return;
  std::fprintf(stderr, "%s\n", text);
  std::_Exit(kExitWrong);
}

/// One round of the job, with checked results.
void work_together(const tutti::Communicator& comm, std::string_view way, std::vector<float>& data) {
  std::ranges::fill(data, 1.0F);
  auto expected = static_cast<float>(comm.size());
  if (way == "ring") {
    std::vector<float> received(data.size());
    comm.group([&] {
      comm.send(data, (comm.rank() + 1) % comm.size());
      comm.recv(received, (comm.rank() + comm.size() - 1) % comm.size());
    });
    data = received;
    expected = 1.0F;
  } else if (way == "work") {
    comm.allreduce(data, {.async = true}).wait();
  } else if (way == "average") {
    comm.allreduce(data, {.op = tutti::Reduction::average});
    expected = 1.0F;
  } else {
    comm.allreduce(data);
  }
  require(std::ranges::all_of(data, [&](float value) { return value == expected; }), "wrong result");
}

/// After its error a rank may use the memory for other things: nobody may write to it any more.
void use_memory(std::vector<float>& data, int rank) {
  std::ranges::fill(data, kPoison);
  std::printf("survivor %d goes on\n", rank);
  std::fflush(stdout);
  // The late rank goes on when all others have failed; its part of the operation may arrive now.
  std::this_thread::sleep_for(1s);
  require(std::ranges::all_of(data, [](float value) { return value == kPoison; }), "memory was overwritten");
}

}  // namespace

int main(int argc, char** argv) {
  tutti::test::arm_watchdog(100);
  const std::string_view how = argc > 1 ? argv[1] : "";
  const std::string_view way = argc > 2 ? argv[2] : "";
  std::vector<float> data(argc > 3 ? std::stoul(argv[3]) : 1000);
  int rank = -1;
  try {
    const tutti::Communicator comm = tutti::world();
    rank = comm.rank();
    try {
      for (int i = 0;; ++i) {
        if (rank == 1 && i == 20) misbehave(comm, how);
        work_together(comm, way, data);
      }
    } catch (const tutti::Error& error) {
      std::printf("survivor %d: %s: %s\n", rank, std::string(name(error.code())).c_str(), error.what());
      std::fflush(stdout);
      try {
        comm.barrier();
        std::printf("survivor %d: the communicator still works\n", rank);
      } catch (const tutti::Error& again) {
        require(again.code() == error.code(), "a later call fails with another code");
      }
      if (rank != 1) use_memory(data, rank);
    }
  } catch (const std::logic_error&) {
    return 4;
  }
  std::printf("survivor %d has left\n", rank);
  return kExitFailure;
}
