#pragma once

#include <unistd.h>

#include <chrono>
#include <string>

#include "progress.hpp"
#include "terminal.hpp"
#include "text.hpp"

namespace tutti::bench {

/// Where the run is and how much time is left, on a line of the terminal that is rewritten; now and then a line where
/// there is no terminal.
class ProgressLine {
 public:
  /// `total`: the expected cost of everything, in any unit.
  ProgressLine(double total, bool quiet) : total_(total), quiet_(quiet) {}
  ~ProgressLine() {
    if (shown_) tools::write_all(STDERR_FILENO, "\r\033[K");
  }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void advance(double cost) { done_ += cost; }

  void show(const std::string& what) {
    const auto now = Clock::now();
    if (quiet_ || now - last_ < (terminal_.is_tty() ? kOften : kSeldom)) return;
    last_ = now;
    const double elapsed = std::chrono::duration<double>(now - begin_).count();
    const double left = tools::Progress::estimate(elapsed, done_, total_);
    std::string line = tools::concat(static_cast<int>(100 * done_ / total_), " %  ", what);
    if (left >= 0) line += tools::concat(", ", tools::format_clock(left), " left");
    if (terminal_.is_tty()) {
      line.resize(std::min(line.size(), terminal_.columns() - 1));
      tools::write_all(STDERR_FILENO, "\r\033[K" + line);
      shown_ = true;
    } else {
      tools::write_all(STDERR_FILENO, line + "\n");
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kOften = std::chrono::milliseconds(100);
  static constexpr auto kSeldom = std::chrono::milliseconds(10000);

  tools::Terminal terminal_{STDERR_FILENO};
  double total_;
  double done_ = 0;
  bool quiet_;
  bool shown_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = {};
};

}  // namespace tutti::bench
