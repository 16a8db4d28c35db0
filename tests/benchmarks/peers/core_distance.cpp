#include "core_distance.hpp"

#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "analysis/statistics.hpp"

namespace tutti::bench {
namespace {

// Short batches, of which the fast ones count: on a busy machine one of the two threads is often off its core.
constexpr int kTrips = 100;
constexpr int kBatches = 25;
constexpr double kUndisturbed = 0.2;

struct alignas(128) Ball {
  std::atomic<int> at{0};
};

void stay_on(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  (void)sched_setaffinity(0, sizeof one, &one);
}

// Waits for each number and stores the next one. Yields after a while, in case the other thread needs this core.
void play(Ball& ball, int first, int trips) {
  for (int number = first; number < first + 2 * trips; number += 2) {
    for (int looks = 0; ball.at.load(std::memory_order_acquire) != number; ++looks) {
      if (looks > 10'000) std::this_thread::yield();
    }
    ball.at.store(number + 1, std::memory_order_release);
  }
}

}  // namespace

std::optional<double> core_distance_ns() {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return std::nullopt;
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &usable)) cores.push_back(core);
  }
  if (cores.size() < 2) return std::nullopt;

  using Clock = std::chrono::steady_clock;
  Ball ball;
  std::vector<double> batches;
  std::thread returner([&] {
    stay_on(cores.back());
    play(ball, 1, kTrips * (kBatches + 1));
  });
  std::thread server([&] {
    stay_on(cores.front());
    play(ball, 0, kTrips);  // warms up: both threads are running then
    for (int batch = 1; batch <= kBatches; ++batch) {
      const auto begin = Clock::now();
      play(ball, 2 * kTrips * batch, kTrips);
      const std::chrono::duration<double, std::nano> took = Clock::now() - begin;
      batches.push_back(took.count() / (2 * kTrips));
    }
  });
  server.join();
  returner.join();
  return tools::percentile(batches, kUndisturbed);
}

}  // namespace tutti::bench
