#pragma once

#include <string>

#include "launch/event_loop.hpp"
#include "text/terminal.hpp"

namespace tutti::tools {

/// Shows the progress of a long job and the time left on standard error: one rewritten line on a terminal, otherwise a
/// line every 10 s at most.
class Progress {
 public:
  /// `job` begins each line; `total` is the expected cost of everything, in any unit.
  Progress(std::string job, double total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Shows the current step.
  void show(const std::string& what);
  /// Adds `cost` to the part of the total that is done.
  void advance(double cost) { done_ += cost; }
  /// Removes the line before other output.
  void clear();

  /// Seconds left at the speed so far; negative while too little is done for an estimate.
  [[nodiscard]] static double estimate(double elapsed, double done, double total) noexcept;

 private:
  Terminal terminal_;
  std::string job_;
  double total_;
  double done_ = 0;
  bool quiet_;
  bool shown_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_line_ = {};
};

}  // namespace tutti::tools
