#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sweep/plan/sweep_plan.hpp"

namespace tutti::tools {

/// Time that the rest of a plan takes, from the durations so far: of the same cell on the same backend in an earlier
/// run, else on other backends, else the expected duration, scaled by how far expectations were off so far.
class TimeLeft {
 public:
  explicit TimeLeft(const SweepPlan& plan);

  /// The next job begins to start. Call it once for each job of the plan, in their order.
  void begin_job();
  /// The ranks of the job began their first cell `seconds` after the start of the job.
  void started(double seconds);
  /// The next cell of the job is done after `seconds`.
  void finished(double seconds);

  /// Expected duration of the current cell.
  [[nodiscard]] double of_cell() const;
  /// Seconds until the end of the plan when the current cell, or the start of the job, has taken `elapsed` so far.
  [[nodiscard]] double seconds(double elapsed) const;

 private:
  struct Mean {
    double sum = 0;
    int count = 0;
    void add(double value) {
      sum += value;
      ++count;
    }
    [[nodiscard]] double value(double without) const { return count > 0 ? sum / count : without; }
  };
  [[nodiscard]] static std::string key(const SweepJob& job, const SweepCell& cell);
  [[nodiscard]] double expected(const SweepJob& job, const SweepCell& cell) const;

  const SweepPlan& plan_;
  std::optional<std::size_t> job_;  ///< nothing: before the first
  std::size_t cell_ = 0;
  bool is_starting_ = false;
  Mean starts_;
  std::map<std::string, Mean> of_backend_;  ///< by backend and key()
  std::map<std::string, Mean> of_any_;      ///< by key()
  double measured_ = 0;
  double modelled_ = 0;
};

}  // namespace tutti::tools
