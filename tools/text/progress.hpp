#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launch/event_loop.hpp"
#include "text/terminal.hpp"

namespace tutti::tools {

/// The current step of a job whose owner knows the time that is left.
struct ProgressStep {
  std::string what;
  double part = 0;   ///< of the step that is done, 0 to 1, shown as a bar
  double whole = 0;  ///< of the job that is done
  double left = -1;  ///< seconds; negative: unknown
};

/// Shows the progress of a long job and the time left on standard error: one rewritten line on a terminal, otherwise a
/// line every 10 s at most.
class Progress {
 public:
  /// `job` begins each line; `total` is the expected cost of everything, in any unit.
  Progress(std::string job, double total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows the current step, and the time left at the speed so far.
  void show(const std::string& what);
  /// Shows the current step of an owner that estimates the time left itself.
  void show(const ProgressStep& step);
  /// Adds `cost` to the part of the total that is done.
  void advance(double cost) { done_ += cost; }
  /// Lines above the progress, on a terminal only; they replace the previous ones at the next show().
  void set_panel(std::vector<std::string> lines) { panel_ = std::move(lines); }
  /// Lines that the panel may have so that it fits the terminal; 0 when nothing is shown on a terminal.
  [[nodiscard]] std::size_t panel_height() const;
  /// Removes panel and line before other output.
  void clear();

  /// Seconds left at the speed so far; negative while too little is done for an estimate.
  [[nodiscard]] static double estimate(double elapsed, double done, double total) noexcept;

 private:
  void draw(const std::string& line);

  Terminal terminal_;
  std::string job_;
  double total_;
  double done_ = 0;
  bool quiet_;
  bool shown_ = false;
  std::vector<std::string> panel_;
  std::size_t drawn_ = 0;  ///< lines of the panel on the terminal
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_line_ = {};
};

/// The line of a step, cut to `width`; the bar needs room for it. "sweep  42 %  native allreduce 1 MiB  [####......]
/// 0:12 left"
[[nodiscard]] std::string progress_line(const std::string& job, const ProgressStep& step, const base::Style& style,
                                        std::size_t width);

}  // namespace tutti::tools
