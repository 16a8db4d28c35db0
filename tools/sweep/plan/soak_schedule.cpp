#include "sweep/plan/soak_schedule.hpp"

#include <algorithm>

namespace tutti::tools {
namespace {

constexpr double kTurns = 4;
constexpr double kLeastRounds = 6;        // growth is seen from 4 on
constexpr std::size_t kMostCells = 2000;  // an argument of a program has at most 128 KiB

}  // namespace

SoakSchedule::SoakSchedule(const SweepPlan& plan, double seconds, std::uint64_t seed)
    : seed_(seed), share_(seconds / (kTurns * static_cast<double>(std::max<std::size_t>(plan.jobs.size(), 1)))) {
  for (const SweepJob& job : plan.jobs) {
    double round = 0;
    for (const SweepCell& cell : job.cells) round += expected_seconds(cell, job.ranks, plan.seconds_per_cell);
    turns_.push_back({job, round});
  }
}

SweepJob SoakSchedule::next(double seconds) {
  Turn& turn = turns_[current_];
  SweepJob job{.backend = turn.job.backend, .ranks = turn.job.ranks, .counted = turn.job.counted && turn.is_first};
  const double wanted = std::min(std::max(share_, kLeastRounds * turn.seconds_per_round), seconds);
  rounds_ = rounds_for(wanted, turn.seconds_per_round, turn.job.cells.size());
  for (std::size_t round = 0; round < rounds_; ++round) {
    std::vector<SweepCell> cells = turn.job.cells;
    shuffle(cells, seed_, shuffles_++);
    job.cells.insert(job.cells.end(), cells.begin(), cells.end());
  }
  return job;
}

std::size_t SoakSchedule::round_cells() const { return turns_[current_].job.cells.size(); }

void SoakSchedule::finished(std::size_t good, double seconds) {
  if (good == 0) {
    turns_.erase(turns_.begin() + static_cast<std::ptrdiff_t>(current_));
  } else {
    turns_[current_].seconds_per_round = seconds / static_cast<double>(rounds_);
    turns_[current_].is_first = false;
    ++current_;
  }
  if (current_ >= turns_.size()) current_ = 0;
}

std::size_t rounds_for(double seconds, double seconds_per_round, std::size_t cells) {
  const double wanted = std::clamp(seconds / std::max(seconds_per_round, 1e-6), 1.0, 1e6);
  const std::size_t most = std::max<std::size_t>(kMostCells / std::max<std::size_t>(cells, 1), 1);
  return std::min(static_cast<std::size_t>(wanted), most);
}

}  // namespace tutti::tools
