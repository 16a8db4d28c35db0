#include "sweep/show/sweep_view.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "sweep/show/sweep_chart.hpp"
#include "text/terminal.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

constexpr long kRedrawNanoseconds = 500'000'000;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

spi::FileDescriptor make_timer() {
  spi::FileDescriptor timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const itimerspec period{{0, kRedrawNanoseconds}, {0, kRedrawNanoseconds}};
  // Without a timer the view is drawn at the beginning of each cell only.
  if (timer && timerfd_settime(timer.get(), 0, &period, nullptr) != 0) timer.reset();
  return timer;
}

}  // namespace

SweepView::SweepView(EventLoop& loop, const SweepPlan& plan, const SweepResults& results, Options options)
    : loop_(loop), results_(results), options_(options), progress_("sweep", 0, options.quiet), time_left_(plan) {
  for (const SweepJob& job : plan.jobs) has_several_ranks_ |= job.ranks != plan.jobs.front().ranks;
  if (options_.quiet || !Terminal(STDERR_FILENO).is_tty()) return;
  timer_ = make_timer();
  if (!timer_) return;
  loop_.watch(timer_.get(), [this] {
    std::uint64_t times = 0;
    if (read(timer_.get(), &times, sizeof times) > 0 && cell_) show();
  });
}

SweepView::~SweepView() {
  if (timer_) loop_.forget(timer_.get());
}

void SweepView::begin_job(const SweepJob& job) {
  job_ = {.backend = job.backend, .ranks = job.ranks, .run = job.run};
  if (!options_.end) time_left_.begin_job();
  is_starting_ = true;
  cell_.reset();
  step_begin_ = Clock::now();
}

void SweepView::begun(const SweepCell& cell) {
  // The first call for the first cell is the start of the job; a job that replaces a failed one starts in the time of
  // its first cell.
  if (cell_ && is_starting_) {
    if (!options_.end) time_left_.started(elapsed());
    is_starting_ = false;
    step_begin_ = Clock::now();
  } else if (!is_starting_) {
    step_begin_ = Clock::now();
  }
  cell_ = cell;
  show();
}

void SweepView::done(const SweepRow& row) {
  if (!options_.end) time_left_.finished(elapsed());
  is_starting_ = false;
  step_begin_ = Clock::now();
  if (!options_.watch) return;
  const auto merged = std::ranges::find_if(results_.rows, [&](const SweepRow& other) {
    return other.cell == row.cell && other.ranks == row.ranks && other.backend == row.backend;
  });
  if (merged == results_.rows.end()) return;
  progress_.set_panel(growing_chart(results_, *merged, Terminal(STDERR_FILENO), progress_.panel_height()));
}

double SweepView::elapsed() const { return seconds_since(step_begin_); }

ProgressStep SweepView::step() const {
  ProgressStep step{.what = concat(job_.backend, " ", name(cell_->op), " ", format_bytes(cell_->bytes))};
  if (cell_->in_place) step.what += " in place";
  if (has_several_ranks_) step.what += concat(", ", job_.ranks, job_.ranks == 1 ? " rank" : " ranks");
  if (job_.run > 0) step.what += concat(", run ", job_.run + 1);
  if (options_.end) {
    step.left = std::max(std::chrono::duration<double>(*options_.end - Clock::now()).count(), 0.0);
    step.part = -1;
  } else {
    const double expected = time_left_.of_cell();
    step.left = time_left_.seconds(elapsed());
    step.part = is_starting_ || expected <= 0 ? 0 : std::min(elapsed() / expected, 1.0);
  }
  const double passed = seconds_since(begin_);
  step.whole = passed / std::max(passed + step.left, 1e-9);
  return step;
}

void SweepView::show() {
  if (cell_) progress_.show(step());
}

}  // namespace tutti::tools
