#pragma once

#include <chrono>
#include <cstdint>

#include "native_api.hpp"
#include "segment/layout.hpp"

namespace tutti::native {

/// Keeps ranks apart that the system has put on one core though there is one for each. Such ranks hand the core to and
/// fro at each step, which looks like work to the system, so it lets them be; a step then takes a context switch, ten
/// times as long. A rank that has spun in vain and finds the one before it on its core moves to a free one, once. Where
/// it may run does not change.
class CoreSpread {
 public:
  CoreSpread(const Layout& layout, int rank, bool core_per_rank) noexcept
      : layout_(layout), rank_(rank), core_per_rank_(core_per_rank) {}

  /// Tells the others where this rank runs; a store only when that has changed.
  void announce() noexcept {
    const std::int32_t core = api::current_core();
    if (core == core_) return;
    core_ = core;
    layout_.control(rank_).core.store(core, std::memory_order_relaxed);
  }
  /// To be called when spinning has been in vain.
  void step_apart() noexcept {
    if (core_per_rank_ && shares_core()) move();
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{2};

  // With a rank of a lower number: only one of the two is to move.
  [[nodiscard]] bool shares_core() noexcept;
  void move() noexcept;

  const Layout& layout_;
  int rank_;
  bool core_per_rank_;
  std::int32_t core_ = kNoCore;
  std::chrono::steady_clock::time_point moved_ = {};
};

}  // namespace tutti::native
