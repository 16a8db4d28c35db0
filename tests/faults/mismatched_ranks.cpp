// A rank of a job in which rank 1 calls something else than the others after some rounds, in the way of the first
// argument:
//   count, operation, type, reduction, prescale    in an allreduce
//   small    another reduction of three numbers, which keeps nobody waiting
//   root     takes itself for the root of a broadcast; noticed by the collective after it at the latest
//   none     nothing: rounds of all operations, in which some ranks run ahead of others, have no error
// Prints the error of each rank and exits with 42.
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/system/watchdog.hpp"
#include "tutti/info/progress.hpp"
#include "tutti/tutti.hpp"

namespace {

using tutti::Buffer;
using tutti::Communicator;
using tutti::DataType;
using tutti::Reduction;

constexpr int kExitFailure = 42;
/// Large enough for every call to be looked at.
constexpr std::size_t kCount = 3000;
constexpr std::size_t kFew = 3;
constexpr int kRounds = 400;

/// Waits until all others are in the collective that rank 1 is about to change, or past it: a library whose calls do
/// not match may do anything, so that no rank is to have entered it.
void come_last(const Communicator& comm, std::uint64_t number) {
  while (true) {
    const std::vector<tutti::ProcessProgress> processes = tutti::read_progress();
    std::string job;
    for (const auto& process : processes) {
      if (process.pid == getpid() && !process.communicators.empty()) job = process.communicators.front().job;
    }
    int there = 0;
    for (const auto& process : processes) {
      for (const auto& one : process.communicators) there += one.job == job && one.sequence >= number ? 1 : 0;
    }
    if (there == comm.size() - 1) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void call_something_else(const Communicator& comm, std::string_view how, std::vector<double>& data) {
  if (how == "count") comm.allreduce(Buffer(data.data(), kCount - 500, DataType::float64));
  if (how == "operation") comm.barrier();
  if (how == "type") comm.allreduce(Buffer(data.data(), kCount, DataType::int64));
  if (how == "reduction") comm.allreduce(data, {.op = Reduction::max});
  if (how == "prescale") comm.allreduce(data, {.prescale = 2.0});
  if (how == "small") comm.allreduce(Buffer(data.data(), kFew, DataType::float64), {.op = Reduction::min});
  if (how == "root") {
    comm.broadcast(data, 1);
    comm.allreduce(data);
  }
}

void differ(const Communicator& comm, std::string_view how) {
  std::vector<double> data(kCount, 1.0);
  const Buffer few(data.data(), kFew, DataType::float64);
  for (int i = 0; i < 20; ++i) comm.allreduce(data);
  if (comm.rank() == 1) {
    if (how != "small") come_last(comm, 21);
    call_something_else(comm, how, data);
  } else {
    if (how == "root") comm.broadcast(data, 0);
    comm.allreduce(how == "small" ? few : Buffer(data));
  }
  for (int i = 0; i < 40; ++i) comm.allreduce(how == "small" ? few : Buffer(data));
}

/// Calls that agree, with ranks that run ahead: nobody waits for the root of a broadcast.
void agree(const Communicator& comm) {
  const auto size = static_cast<std::size_t>(comm.size());
  std::vector<double> in(size);
  std::vector<double> out(size);
  std::uint64_t random = 12;
  for (int i = 0; i < kRounds; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;  // the same on all ranks
    const auto word = static_cast<unsigned>(random >> 40);
    const int root = static_cast<int>(word % size);
    if ((word >> 8) % 8 == static_cast<unsigned>(comm.rank()))
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    switch ((word >> 12) % 7) {
      case 0:
        comm.allreduce(in, {.op = (word & 1) != 0 ? Reduction::sum : Reduction::max});
        break;
      case 1:
        comm.broadcast(in, root);
        break;
      case 2:
        comm.reduce(in, out, root);
        break;
      case 3:
        comm.barrier();
        break;
      case 4:
        comm.allreduce(in, {.async = true}).wait();
        break;
      case 5:
        comm.alltoall(in, out);
        break;
      default:
        comm.group([&] {
          comm.broadcast(in, root);
          comm.allreduce(out);
        });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  tutti::test::arm_watchdog(100);
  const std::string_view how = argc > 1 ? argv[1] : "";
  const Communicator comm = tutti::world();
  try {
    if (how == "none") {
      agree(comm);
      std::printf("rank %d: no error\n", comm.rank());
      return 0;
    }
    differ(comm, how);
    std::printf("rank %d: nothing was noticed\n", comm.rank());
  } catch (const tutti::Error& error) {
    std::printf("rank %d: %s: %s\n", comm.rank(), std::string(name(error.code())).c_str(), error.what());
  }
  std::fflush(stdout);
  return kExitFailure;
}
