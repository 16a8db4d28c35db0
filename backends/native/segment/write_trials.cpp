#include "segment/write_trials.hpp"

#include <algorithm>

namespace tutti::native {

void MoveCost::add(double length, double took) noexcept {
  constexpr double kCredible = 3;
  if (bytes > 0) took = std::min(took, kCredible * per_byte() * length);
  ns += took;
  bytes += length;
}

void WriteTrials::begin_next() noexcept {
  switch (phase_) {
    case Phase::usual:
      phase_ = Phase::compared;
      break;
    case Phase::compared:
      phase_ = Phase::tried;
      break;
    case Phase::tried:
      phase_ = Phase::usual;
      break;
  }
  // After a lost trial the next one follows soon.
  left_ = phase_ == Phase::usual && lost_ == 0 ? rule_.usual : rule_.timed;
}

void WriteTrials::judge(double compared, double tried) noexcept {
  constexpr int kOften = 2;
  last_through_ = streams_ ? tried : compared;
  last_past_ = streams_ ? compared : tried;
  ++judged_;
  const double gain = streams_ ? rule_.gain_to_go_on : rule_.gain_to_stream;
  const bool is_better = last_past_ * gain < last_through_;
  lost_ = is_better == streams_ ? 0 : lost_ + 1;
  if (lost_ < kOften) return;
  streams_ = !streams_;
  lost_ = 0;
}

}  // namespace tutti::native
