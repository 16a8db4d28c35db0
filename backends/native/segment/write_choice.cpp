#include "segment/write_choice.hpp"

#include <algorithm>

namespace tutti::native {

void WriteChoice::begin(Phase phase) noexcept {
  phase_ = phase;
  left_ = kTimedPhase;
  if (phase == Phase::compared) compared_ = tried_ = {};
  // After a lost trial the next one follows soon.
  if (phase == Phase::usual && lost_ == 0) left_ = kUsualPhase;
}

void WriteChoice::account(std::size_t bytes, std::chrono::nanoseconds took) noexcept {
  Cost& cost = phase_ == Phase::tried ? tried_ : compared_;
  // During the first half of a trial the slots are still where the usual way left them.
  if (phase_ == Phase::compared || left_ <= kTimedPhase / 2) {
    const auto length = static_cast<double>(bytes);
    auto ns = static_cast<double>(took.count());
    // The thread may have been preempted.
    constexpr double kCredible = 3;
    if (cost.bytes > 0) ns = std::min(ns, kCredible * cost.per_byte() * length);
    cost.ns += ns;
    cost.bytes += length;
  }
  left_ -= static_cast<std::int64_t>(bytes);
  if (left_ > 0) return;
  if (phase_ == Phase::tried) judge();
  begin(phase_ == Phase::tried ? Phase::usual : Phase::tried);
}

void WriteChoice::judge() noexcept {
  if (tried_.bytes == 0) return;  // one long chunk was the whole trial
  short_left_ = kUsualPhase;
  // Readers pay for data that is not in a cache, so the writer's gain must be clear.
  constexpr double kGainToStream = 1.5;
  constexpr double kGainToGoOn = 1.25;
  constexpr int kOften = 2;
  const double through = (streams_ ? tried_ : compared_).per_byte();
  const double past = (streams_ ? compared_ : tried_).per_byte();
  const bool is_better = past * (streams_ ? kGainToGoOn : kGainToStream) < through;
  lost_ = is_better == streams_ ? 0 : lost_ + 1;
  if (lost_ < kOften) return;
  streams_ = !streams_;
  lost_ = 0;
}

}  // namespace tutti::native
