#pragma once

#include <string>

#include "launch/event_loop.hpp"
#include "text/terminal.hpp"

namespace tutti::tools {

/// Says on the standard error where a long job is and how much time is left: one line that is rewritten on a terminal,
/// a line now and then elsewhere.
class Progress {
 public:
  /// `job` begins each line; `total` is the expected cost of everything, in any unit.
  Progress(std::string job, double total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// What is done now.
  void show(const std::string& what);
  /// A part of the total is done.
  void advance(double cost) { done_ += cost; }
  /// Removes the line, so that others can write.
  void clear();

  /// Seconds left if the rest goes as fast as what is done; negative while nothing is.
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
