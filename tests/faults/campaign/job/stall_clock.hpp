#pragma once

#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace tutti::test::campaign {

/// Notices when the machine stands still: a thread wakes up every 10 ms and notes by how much it came late. A rank that
/// was late together with this thread is not to blame.
class StallClock {
 public:
  StallClock();

  /// Time in nanoseconds between two points of shared_clock_ns() during which the machine stood still.
  [[nodiscard]] std::int64_t stalled_ns(std::int64_t begin_ns, std::int64_t end_ns) const;

 private:
  struct Stall {
    std::int64_t begin_ns;
    std::int64_t end_ns;
  };
  void watch(const std::stop_token& stop);

  mutable std::mutex mutex_;
  std::vector<Stall> stalls_;
  std::jthread thread_;
};

}  // namespace tutti::test::campaign
