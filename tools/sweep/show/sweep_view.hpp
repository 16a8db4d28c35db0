#pragma once

#include <optional>
#include <string>

#include "launch/event_loop.hpp"
#include "results/sweep_results.hpp"
#include "sweep/plan/sweep_plan.hpp"
#include "sweep/show/time_left.hpp"
#include "text/progress.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {

/// Shows a running sweep on standard error: the current cell with a bar, the time left, and with --watch the chart
/// of the results so far. On a terminal it is drawn again twice a second.
class SweepView {
 public:
  struct Options {
    bool quiet = false;
    bool watch = false;
    std::optional<Clock::time_point> end = {};  ///< of a soak; nothing: the time left follows from the plan
  };
  /// `plan` and `results` must outlive the view.
  SweepView(EventLoop& loop, const SweepPlan& plan, const SweepResults& results, Options options);
  ~SweepView();
  SweepView(const SweepView&) = delete;
  SweepView& operator=(const SweepView&) = delete;

  /// The ranks of a job are started; for a plan without `end` the next job of the plan.
  void begin_job(const SweepJob& job);
  /// A cell was begun; a runner calls it for the first cell of a job when the job starts and when the cell does.
  void begun(const SweepCell& cell);
  /// The current cell is over, and its row is in the results.
  void done(const SweepRow& row);
  /// Removes everything from the terminal before other output.
  void clear() { progress_.clear(); }

 private:
  void show();
  [[nodiscard]] double elapsed() const;
  [[nodiscard]] ProgressStep step() const;

  EventLoop& loop_;
  const SweepResults& results_;
  Options options_;
  Progress progress_;
  TimeLeft time_left_;
  spi::FileDescriptor timer_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point step_begin_ = Clock::now();  ///< of the cell, or of the start of the job
  SweepJob job_;                                 ///< without its cells
  std::optional<SweepCell> cell_;
  bool is_starting_ = false;
  bool has_several_ranks_ = false;
};

}  // namespace tutti::tools
