#include "sweep/show/time_left.hpp"

#include <algorithm>

#include "text/text.hpp"

namespace tutti::tools {
namespace {

constexpr double kFirstStart = 1;  // seconds, before a job was started

}  // namespace

TimeLeft::TimeLeft(const SweepPlan& plan) : plan_(plan) {}

void TimeLeft::begin_job() {
  job_ = job_ ? *job_ + 1 : 0;
  cell_ = 0;
  is_starting_ = true;
}

void TimeLeft::started(double seconds) {
  if (is_starting_) starts_.add(seconds);
  is_starting_ = false;
}

void TimeLeft::finished(double seconds) {
  const SweepJob& job = plan_.jobs[*job_];
  const SweepCell& cell = job.cells[cell_++];
  of_backend_[concat(job.backend, ' ', key(job, cell))].add(seconds);
  of_any_[key(job, cell)].add(seconds);
  measured_ += seconds;
  modelled_ += expected_seconds(cell, job.ranks, plan_.seconds_per_cell);
}

std::string TimeLeft::key(const SweepJob& job, const SweepCell& cell) {
  return concat(name(cell.op), ' ', cell.bytes, ' ', cell.in_place, ' ', job.ranks, ' ', job.counted);
}

double TimeLeft::expected(const SweepJob& job, const SweepCell& cell) const {
  const std::string cell_key = key(job, cell);
  if (const auto same = of_backend_.find(concat(job.backend, ' ', cell_key)); same != of_backend_.end())
    return same->second.value(0);
  if (const auto others = of_any_.find(cell_key); others != of_any_.end()) return others->second.value(0);
  return expected_seconds(cell, job.ranks, plan_.seconds_per_cell) * (modelled_ > 0 ? measured_ / modelled_ : 1);
}

double TimeLeft::of_cell() const {
  if (!job_ || cell_ >= plan_.jobs[*job_].cells.size()) return 0;
  return expected(plan_.jobs[*job_], plan_.jobs[*job_].cells[cell_]);
}

double TimeLeft::seconds(double elapsed) const {
  const double start = starts_.value(kFirstStart);
  const std::size_t current = job_.value_or(0);
  double left = job_ && is_starting_ ? std::max(start - elapsed, 0.0) : 0;
  for (std::size_t i = current; i < plan_.jobs.size(); ++i) {
    const SweepJob& job = plan_.jobs[i];
    if (!job_ || i > current) left += start;
    for (std::size_t k = i == current ? cell_ : 0; k < job.cells.size(); ++k) {
      const bool is_running = job_ && i == current && k == cell_ && !is_starting_;
      left += is_running ? std::max(expected(job, job.cells[k]) - elapsed, 0.0) : expected(job, job.cells[k]);
    }
  }
  return left;
}

}  // namespace tutti::tools
