#include "text/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "text/text.hpp"

namespace tutti::tools {
namespace {
constexpr auto kSparse = std::chrono::seconds(10);
constexpr std::size_t kBar = 20;       // characters
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
  const double left = estimate(std::chrono::duration<double>(Clock::now() - begin_).count(), done_, total_);
  show({.what = what, .part = -1, .whole = done_ / std::max(total_, 1e-9), .left = left});
}

void Progress::show(const ProgressStep& step) {
  if (quiet_) return;
  const auto now = Clock::now();
  if (terminal_.is_tty()) {
    draw(progress_line(job_, step, terminal_, terminal_.columns() - 1));
  } else if (now - last_line_ >= kSparse) {
    last_line_ = now;
    ProgressStep plain = step;
    plain.part = -1;
    write_all(STDERR_FILENO, progress_line(job_, plain, base::Style(false), std::string::npos) + "\n");
  }
}

std::size_t Progress::panel_height() const {
  const std::size_t rows = quiet_ ? 0 : terminal_.rows();
  return rows > 2 ? rows - 2 : 0;
}

void Progress::draw(const std::string& line) {
  std::string text = "\r";
  if (drawn_ > 0) text += concat("\033[", drawn_, 'A');
  text += "\033[J";
  for (const std::string& panel_line : panel_) text += panel_line + "\r\n";
  write_all(STDERR_FILENO, text + line);
  drawn_ = panel_.size();
  shown_ = true;
}

void Progress::clear() {
  if (!shown_) return;
  write_all(STDERR_FILENO, drawn_ > 0 ? concat("\r\033[", drawn_, "A\033[J") : "\r\033[K");
  drawn_ = 0;
  shown_ = false;
}

std::string progress_line(const std::string& job, const ProgressStep& step, const base::Style& style,
                          std::size_t width) {
  const int percent = static_cast<int>(100 * std::clamp(step.whole, 0.0, 1.0));
  const std::string begin = concat(job, percent < 10 ? "  " : " ", percent, " %  ", step.what);
  const std::string end = step.left < 0 ? "" : concat(step.part < 0 ? ", " : "  ", format_clock(step.left), " left");
  const bool has_bar = step.part >= 0 && begin.size() + kBar + 4 + end.size() <= width;
  if (!has_bar) return (begin + end).substr(0, width);
  const auto full = static_cast<std::size_t>(std::clamp(step.part, 0.0, 1.0) * static_cast<double>(kBar));
  return concat(begin, "  [", style.coloured(0, std::string(full, '#')), style.dim(std::string(kBar - full, '.')), ']',
                end);
}

}  // namespace tutti::tools
