#pragma once

#include <chrono>
#include <cstdint>

#include "native_api.hpp"
#include "segment/layout.hpp"

namespace tutti::native {

/// Spreads the ranks evenly over the cores on which they may run. Ranks that share a core although another one has room
/// hand it to each other at every step. The scheduler sees a busy core and does not move them, so that each step takes
/// a context switch more, ten times as long where there is a core for each rank and twice as long for four ranks on one
/// of two cores. A rank that has spun in vain and shares its core with too many lower ranks moves to the cores with the
/// fewest ranks. Its CPU affinity does not change.
///
/// Ranks that share cores yield while they wait. Beside another program on the new core each yield gives that program a
/// time slice, which is worse than the crowd on the old core. So such a move is a trial: a rank that meets such a yield
/// goes back, and waits twice as long before its next trial.
class CoreSpread {
 public:
  using Clock = std::chrono::steady_clock;

  /// `most`: ranks on each core when they are spread evenly.
  CoreSpread(const Layout& layout, int rank, int most) noexcept : layout_(layout), rank_(rank), most_(most) {}

  /// Publishes the core on which this rank runs; stores only when it has changed.
  void announce() noexcept {
    const std::int32_t core = api::current_core();
    if (core == core_) return;
    core_ = core;
    layout_.control(rank_).core.store(core, std::memory_order_relaxed);
  }
  /// Moves this rank if its core has too many ranks; to be called when spinning was in vain.
  void step_apart() noexcept {
    // Ranks that share cores spin in vain at every step.
    if (most_ > 1 && ++lost_ % kLossesPerLook != 0) return;
    if (is_crowded()) move();
  }

  /// Whether the last move may still turn out to be bad: then judge() is to be told how long each wait took.
  [[nodiscard]] bool is_on_trial() const noexcept { return on_trial_; }
  /// Moves back if another program had the core meanwhile; ends the trial when it has lasted long enough.
  void judge(Clock::time_point begin, Clock::time_point end) noexcept;

 private:
  // The other ranks need as long to announce their new cores.
  static constexpr std::chrono::milliseconds kShortestInterval{2};
  static constexpr std::chrono::milliseconds kLongestInterval{2000};
  static constexpr std::chrono::milliseconds kTrial{20};
  static constexpr std::chrono::milliseconds kTimeSlice{1};
  static constexpr std::uint32_t kLossesPerLook = 16;

  // Only by lower ranks: one of two that are too many must stay.
  [[nodiscard]] bool is_crowded() noexcept;
  void move() noexcept;
  void go_back() noexcept;

  const Layout& layout_;
  int rank_;
  int most_;
  std::uint32_t lost_ = 0;
  std::int32_t core_ = kNoCore;
  std::int32_t core_before_ = kNoCore;  // before the last move
  bool on_trial_ = false;
  Clock::time_point moved_ = {};
  Clock::duration interval_ = kShortestInterval;  // between moves
};

}  // namespace tutti::native
