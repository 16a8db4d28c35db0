#include "sweep/rank/sweep_team.hpp"

#include <algorithm>

namespace tutti::tools {
namespace {

double microseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

SweepTeam::SweepTeam(std::vector<std::unique_ptr<SweepLane>> lanes)
    : lanes_(std::move(lanes)), calls_(lanes_.size()), gate_(static_cast<std::ptrdiff_t>(lanes_.size())) {
  if (lanes_.front()->has_device()) return;
  for (std::size_t index = 1; index < lanes_.size(); ++index) threads_.emplace_back([this, index] { work(index); });
}

SweepTeam::~SweepTeam() {
  if (threads_.empty()) return;
  is_over_ = true;
  gate_.arrive_and_wait();
  for (std::thread& thread : threads_) thread.join();
}

double SweepTeam::timed_call(const CellShape& shape) {
  lanes_.front()->comm().barrier();
  return threads_.empty() ? call_in_order(shape) : call_in_threads(shape);
}

double SweepTeam::timed_step(const CellShape& shape, Computation& computation) {
  lanes_.front()->comm().barrier();
  const auto begin = Clock::now();
  computation.run();
  (void)(threads_.empty() ? call_in_order(shape) : call_in_threads(shape));
  return microseconds(Clock::now() - begin);
}

double SweepTeam::timed_computation(Computation& computation) const {
  lanes_.front()->comm().barrier();
  const auto begin = Clock::now();
  computation.run();
  return microseconds(Clock::now() - begin);
}

double SweepTeam::call_in_order(const CellShape& shape) const {
  const auto begin = Clock::now();
  if (lanes_.size() == 1) {
    lanes_.front()->call(shape).wait();
  } else {
    std::vector<Work> works;
    for (const auto& lane : lanes_) works.push_back(lane->call(shape));
    for (Work& work : works) work.wait();
  }
  return microseconds(Clock::now() - begin);
}

double SweepTeam::call_in_threads(const CellShape& shape) {
  shape_ = &shape;
  ready_ = 0;
  gate_.arrive_and_wait();
  call(0);
  gate_.arrive_and_wait();
  if (failure_) std::rethrow_exception(failure_);
  const auto begin = std::ranges::min(calls_, {}, &Call::begin).begin;
  return microseconds(std::ranges::max(calls_, {}, &Call::end).end - begin);
}

void SweepTeam::work(std::size_t index) {
  for (;;) {
    gate_.arrive_and_wait();
    if (is_over_) return;
    call(index);
    gate_.arrive_and_wait();
  }
}

void SweepTeam::call(std::size_t index) noexcept {
  // Threads wake up from the gate at different times; no lane begins before all are awake.
  ++ready_;
  while (ready_ < lanes_.size()) std::this_thread::yield();
  Call& mine = calls_[index];
  mine.begin = Clock::now();
  try {
    lanes_[index]->call(*shape_).wait();
  } catch (...) {
    if (!has_failed_.exchange(true)) {
      failure_ = std::current_exception();
      for (const auto& lane : lanes_) lane->comm().abort();
    }
  }
  mine.end = Clock::now();
}

}  // namespace tutti::tools
