#pragma once

#include <functional>
#include <vector>

#include "launch/event_loop.hpp"
#include "launch/launch_target.hpp"
#include "sweep/sweep_runner.hpp"

namespace tutti::tools {

/// Runs the jobs of a measurement one after the other and ends them when the user interrupts it. One may exist at a
/// time.
class TuningJobs {
 public:
  TuningJobs();
  TuningJobs(const TuningJobs&) = delete;
  TuningJobs& operator=(const TuningJobs&) = delete;

  /// Measures the cells on one backend; false if the user interrupted this or an earlier job.
  [[nodiscard]] bool run(const LaunchTarget& target, const SweepSettings& settings, SweepRunner::Events events,
                         std::vector<SweepCell> cells);

 private:
  void on_signal(int number);

  EventLoop loop_;
  SweepRunner* runner_ = nullptr;
  bool interrupted_ = false;
  SignalWatch signals_;
};

}  // namespace tutti::tools
