// Cost of a session per allreduce: rounds with and without recording take turns in one job.
//
//   TUTTI_PROF_SESSION=DIR TUTTI_PROF_PAUSED=1 TUTTI_OBSERVERS=profile tutti run -n 2 -- allreduce_cost [--check]
//   TUTTI_PROF_SESSION=DIR TUTTI_PROF_PAUSED=1 TUTTI_OBSERVERS=profile allreduce_cost --threads [--check]
//
// The first form measures ranks that are processes, the second two threads. --check fails where recording costs more
// than 1 % and more than 100 ns per call.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "tutti/profiling.hpp"
#include "tutti/tutti.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kRounds = 41;
constexpr double kAllowedShare = 0.01;
constexpr double kAllowedNs = 100;

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Nanoseconds per call.
double timed(const tutti::Communicator& comm, std::vector<float>& data, int calls) {
  comm.barrier();
  const auto begin = Clock::now();
  for (int i = 0; i < calls; ++i) comm.allreduce(data, {.op = tutti::Reduction::max});
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / calls;
}

/// Turns recording on or off in all processes of the communicator.
void record(const tutti::Communicator& comm, bool on, bool is_leader) {
  comm.barrier();
  if (is_leader && on) static_cast<void>(tutti::profiling::start());
  if (is_leader && !on) tutti::profiling::stop();
  comm.barrier();
}

/// Returns whether the cost is within the limits.
bool measure(const tutti::Communicator& comm, std::size_t bytes, bool threads) {
  std::vector<float> data(bytes / sizeof(float), 1.0F);
  const int calls = static_cast<int>(std::clamp<std::size_t>((std::size_t{4} << 20) / bytes, 2, 500));
  const bool is_leader = !threads || comm.rank() == 0;
  static_cast<void>(timed(comm, data, calls));
  std::vector<double> off;
  std::vector<double> cost;
  for (int round = 0; round < kRounds; ++round) {
    double pair[2] = {};
    for (const int turn : {round % 2, 1 - round % 2}) {
      record(comm, turn == 1, is_leader);
      pair[turn] = timed(comm, data, calls);
    }
    off.push_back(pair[0]);
    cost.push_back(pair[1] - pair[0]);
  }
  if (comm.rank() != 0) return true;
  const double without = median(off);
  const double with = median(cost);
  const bool good = with <= std::max(kAllowedShare * without, kAllowedNs);
  std::printf("%10zu B %12.0f ns off %+10.0f ns on %+7.2f %%%s\n", bytes, without, with, 100 * with / without,
              good ? "" : "  above the target");
  std::fflush(stdout);
  return good;
}

bool measure_all(const tutti::Communicator& comm, bool threads) {
  bool good = true;
  for (const std::size_t bytes : {8UL, 1024UL, 65536UL, 1UL << 20, 16UL << 20, 64UL << 20}) {
    good = measure(comm, bytes, threads) && good;
  }
  return good;
}

}  // namespace

int main(int count, char** arguments) {
  bool threads = false;
  bool check = false;
  for (int i = 1; i < count; ++i) {
    threads = threads || std::strcmp(arguments[i], "--threads") == 0;
    check = check || std::strcmp(arguments[i], "--check") == 0;
  }
  try {
    if (!tutti::profiling::start()) {
      std::fprintf(stderr, "allreduce_cost: no session: %s\n", tutti::profiling::last_problem());
      return 1;
    }
    bool good = true;
    if (threads) {
      std::vector<tutti::Communicator> group = tutti::local_group(2);
      std::thread other([&] { static_cast<void>(measure_all(group[1], true)); });
      good = measure_all(group[0], true);
      other.join();
    } else {
      good = measure_all(tutti::world(), false);
    }
    return check && !good ? 1 : 0;
  } catch (const tutti::Error& error) {
    std::fprintf(stderr, "allreduce_cost: %s\n", error.what());
    return 1;
  }
}
