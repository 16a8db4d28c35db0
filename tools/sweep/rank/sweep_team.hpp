#pragma once

#include <atomic>
#include <barrier>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sweep/rank/computation.hpp"
#include "sweep/rank/sweep_lane.hpp"

namespace tutti::tools {

/// The lanes of a rank, which carry out an operation at the same time.
///
/// On the host each lane has a thread of its own, the first one the calling thread, and calls the operation with
/// blocking calls: the calls of a cell with one communicator. On a device each lane has a stream of its own, and one
/// thread calls the operations in the order of the lanes: libraries that work on devices may wait for each other for
/// ever when ranks enqueue operations of two communicators in different orders.
class SweepTeam {
 public:
  explicit SweepTeam(std::vector<std::unique_ptr<SweepLane>> lanes);
  ~SweepTeam();
  SweepTeam(const SweepTeam&) = delete;
  SweepTeam& operator=(const SweepTeam&) = delete;

  [[nodiscard]] const std::vector<std::unique_ptr<SweepLane>>& lanes() const noexcept { return lanes_; }

  /// Microseconds from the first lane's call to the last lane's return, on this rank, after a barrier of all ranks.
  /// Throws the error of the lane that failed first; the communicators of all lanes are aborted then.
  [[nodiscard]] double timed_call(const CellShape& shape);

  /// The same for the computation followed by the operation.
  [[nodiscard]] double timed_step(const CellShape& shape, Computation& computation);
  /// The same for the computation alone.
  [[nodiscard]] double timed_computation(Computation& computation) const;

  /// The first problem that `check` finds in a lane; empty when there is none.
  template <typename Check>
  [[nodiscard]] std::string first_problem(const Check& check) const {
    for (const auto& lane : lanes_) {
      if (std::string problem = check(*lane); !problem.empty()) return problem;
    }
    return {};
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Call {
    Clock::time_point begin;
    Clock::time_point end;
  };
  [[nodiscard]] double call_in_order(const CellShape& shape) const;
  [[nodiscard]] double call_in_threads(const CellShape& shape);
  void work(std::size_t index);
  void call(std::size_t index) noexcept;

  std::vector<std::unique_ptr<SweepLane>> lanes_;
  std::vector<Call> calls_;  ///< by lane, of the last round
  std::barrier<> gate_;      ///< before and after a round; orders the accesses to the other members
  std::atomic<std::size_t> ready_ = 0;
  std::atomic<bool> has_failed_ = false;
  std::exception_ptr failure_;  ///< of the lane that set has_failed_
  const CellShape* shape_ = nullptr;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace tutti::tools
