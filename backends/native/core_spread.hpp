#pragma once

#include <chrono>
#include <cstdint>

#include "native_api.hpp"
#include "segment/layout.hpp"

namespace tutti::native {

/// Separates ranks that the system runs on one core although there is a core for each. Such ranks hand the core to each
/// other at every step. The scheduler sees a busy core and does not move them, so that each step takes a context
/// switch, ten times as long. A rank that has spun in vain and shares its core with a lower rank moves to a free core,
/// at most once per kInterval. Its CPU affinity does not change.
class CoreSpread {
 public:
  CoreSpread(const Layout& layout, int rank, bool core_per_rank) noexcept
      : layout_(layout), rank_(rank), core_per_rank_(core_per_rank) {}

  /// Publishes the core on which this rank runs; stores only when it has changed.
  void announce() noexcept {
    const std::int32_t core = api::current_core();
    if (core == core_) return;
    core_ = core;
    layout_.control(rank_).core.store(core, std::memory_order_relaxed);
  }
  /// Moves this rank if it shares its core with a lower rank; to be called when spinning was in vain.
  void step_apart() noexcept {
    if (core_per_rank_ && shares_core()) move();
  }

 private:
  static constexpr std::chrono::milliseconds kInterval{2};

  // Only with a lower rank: one of the two must stay.
  [[nodiscard]] bool shares_core() noexcept;
  void move() noexcept;

  const Layout& layout_;
  int rank_;
  bool core_per_rank_;
  std::int32_t core_ = kNoCore;
  std::chrono::steady_clock::time_point moved_ = {};
};

}  // namespace tutti::native
