// Cost of one record: the recorder alone, in a session and without one.
//
//   record_cost [ROUNDS]     in a session if TUTTI_PROF_SESSION is set
//
// Prints "<kind> <nanoseconds>" per kind of record: the median of the rounds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "session/recorder.hpp"

namespace {

using namespace tutti::profiling;
using Clock = std::chrono::steady_clock;

constexpr int kCalls = 2000;

double median_ns(int rounds, const std::function<void(std::uint64_t)>& call) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = Clock::now();
    for (int i = 0; i < kCalls; ++i) call(static_cast<std::uint64_t>(i));
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count() / kCalls);
  }
  std::ranges::nth_element(times, times.begin() + rounds / 2);
  return times[static_cast<std::size_t>(rounds / 2)];
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::max(1, std::atoi(arguments[1])) : 100;
  const SourceId source = add_source("BACKEND_COST", 1);
  const NameId names[4] = {intern("MPI_Send"), intern("MPI_Recv"), intern("MPI_Allreduce"), intern("MPI_Barrier")};
  const ContextId context = add_context({.operation = "allreduce", .type = "float32", .bytes = 8, .ranks = 2});
  Record record_of{.source = source, .context = context};

  const auto call = [&](Kind kind) {
    return [&, kind](std::uint64_t i) {
      if (!is_recording()) return;
      record_of.kind = kind;
      record_of.name = names[i % 4];
      record_of.begin_ns = 1000 * i;
      record_of.end_ns = 1000 * i + 100 + i % 1000;
      record_of.bytes = 8;
      record(record_of);
    };
  };
  const auto timed = [&](std::uint64_t i) {
    if (!is_recording()) return;
    record_of.kind = Kind::host;
    record_of.name = names[i % 4];
    record_of.begin_ns = now_ns();
    record_of.end_ns = now_ns();
    record(record_of);
  };
  const auto context_of = [&](std::uint64_t i) {
    if (!is_recording()) return;
    record_of.context =
        add_context({.operation = "allreduce", .type = "float32", .bytes = std::uint64_t{8} << i % 8, .ranks = 2});
  };
  std::printf("host %.1f\n", median_ns(rounds, call(Kind::host)));
  std::printf("operation %.1f\n", median_ns(rounds, call(Kind::operation)));
  std::printf("allocation %.1f\n", median_ns(rounds, call(Kind::allocation)));
  std::printf("host+clock %.1f\n", median_ns(rounds, timed));
  std::printf("add_context %.1f\n", median_ns(rounds, context_of));
  return 0;
}
