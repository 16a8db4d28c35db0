#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sweep/plan/sweep_plan.hpp"

namespace tutti::tools {

/// Order and length of the jobs of a soak. The jobs of the plan take turns; each makes several rounds of its cells, so
/// that the memory of its ranks can grow, and every job has about four turns in the whole time. A job without any good
/// result gets no further turn.
class SoakSchedule {
 public:
  SoakSchedule(const SweepPlan& plan, double seconds, std::uint64_t seed);

  /// Whether no job is left.
  [[nodiscard]] bool is_empty() const noexcept { return turns_.empty(); }
  /// The next job, of as many rounds as fit in its share and in the `seconds` left, and at least one.
  [[nodiscard]] SweepJob next(double seconds);
  /// Cells of a round of the job from next().
  [[nodiscard]] std::size_t round_cells() const;
  /// The job from next() took `seconds` and gave `good` rows without a failure.
  void finished(std::size_t good, double seconds);

 private:
  struct Turn {
    SweepJob job;
    double seconds_per_round;
    bool is_first = true;
  };
  std::vector<Turn> turns_;
  std::size_t current_ = 0;
  std::size_t rounds_ = 0;  ///< of the job from next()
  std::uint64_t shuffles_ = 0;
  std::uint64_t seed_;
  double share_;
};

/// Rounds of `cells` cells in a job of about `seconds` when a round takes `seconds_per_round`: at least 1, and no more
/// than the command line of a rank can name.
[[nodiscard]] std::size_t rounds_for(double seconds, double seconds_per_round, std::size_t cells);

}  // namespace tutti::tools
