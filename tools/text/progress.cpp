#include "text/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "text/text.hpp"

namespace tutti::tools {
namespace {
constexpr auto kSparse = std::chrono::seconds(10);
constexpr double kTrustworthy = 0.02;  // part of the total that allows an estimate
}  // namespace

Progress::Progress(std::string job, double total, bool quiet)
    : terminal_(STDERR_FILENO), job_(std::move(job)), total_(total), quiet_(quiet) {}

Progress::~Progress() { clear(); }

double Progress::estimate(double elapsed, double done, double total) noexcept {
  if (done < total * kTrustworthy || done <= 0) return -1;
  return std::max(elapsed / done * (total - done), 0.0);
}

void Progress::show(const std::string& what) {
  if (quiet_) return;
  const auto now = Clock::now();
  const double left = estimate(std::chrono::duration<double>(now - begin_).count(), done_, total_);
  const int percent = static_cast<int>(100 * done_ / std::max(total_, 1e-9));
  std::string line = concat(job_, percent < 10 ? "  " : " ", percent, " %  ", what);
  line += left < 0 ? "" : concat(", ", format_clock(left), " left");
  if (terminal_.is_tty()) {
    if (line.size() >= terminal_.columns()) line.resize(terminal_.columns() - 1);
    write_all(STDERR_FILENO, "\r\033[K" + line);
    shown_ = true;
  } else if (now - last_line_ >= kSparse) {
    last_line_ = now;
    write_all(STDERR_FILENO, line + "\n");
  }
}

void Progress::clear() {
  if (shown_) write_all(STDERR_FILENO, "\r\033[K");
  shown_ = false;
}

}  // namespace tutti::tools
