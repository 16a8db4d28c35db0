#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "segment/layout.hpp"

namespace tutti::native {

/// Lets ranks that have spun in vain sleep, and wakes them.
///
/// No rank may sleep through a publication, and a publication may cost no system call while no rank sleeps. A sleeper
/// first counts itself in `sleepers`, then looks at everything it waits for once more, then sleeps. A publisher first
/// stores its stamp, tail or counter, then reads `sleepers`. All four are sequentially consistent, so in their single
/// total order either the publisher sees the sleeper (and rings) or the sleeper sees the publication (and does not
/// sleep). The ring itself is a futex on a counter whose value was read before the last look, so a ring in between is
/// not lost either.
class Bells {
 public:
  Bells(const Layout& layout, int rank) noexcept;

  /// To be called after something was published for `target`, or for all ranks.
  void notify(int target) const noexcept {
    if (sleepers_->load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wake(target);
  }
  void notify_all() const noexcept {
    if (sleepers_->load(std::memory_order_seq_cst) != 0) [[unlikely]]
      wake_all();
  }
  /// Wakes every sleeping rank, whichever rank it waits for: a rank has failed or left.
  void alarm() const noexcept;

  /// While a nap exists, this rank counts as asleep, to be woken by `peer` (or kAnyone).
  class Nap {
   public:
    Nap(const Bells& bells, std::int32_t peer) noexcept;
    ~Nap();
    Nap(const Nap&) = delete;
    Nap& operator=(const Nap&) = delete;
    /// Sleeps until woken, for at most `at_most`.
    void sleep(std::chrono::nanoseconds at_most) const noexcept;

   private:
    const Bells& bells_;
    std::uint32_t rings_;
  };

 private:
  void wake(int target) const noexcept;
  void wake_all() const noexcept;

  const Layout& layout_;
  std::atomic<std::uint32_t>* sleepers_;
  int rank_;
};

/// Decides how long a rank that has nothing to do keeps its core: it spins, yields if other ranks need the core, and
/// then sleeps. The number of spins is learnt, because a peer may share this core with this rank or with other
/// programs: a wait that spinning did not end halves it, a wait that spinning ended lets it grow again.
class Patience {
 public:
  /// With more ranks than cores (`crowded`) the awaited rank may need this core, and a yield is the cheapest way to
  /// hand it over. With a core for each rank only other programs would take the core, and each yield would give them a
  /// whole time slice; a sleeping rank gets its core back soon after it was woken.
  explicit Patience(bool crowded) noexcept
      : least_(crowded ? 16 : 256), most_(crowded ? 32 : 2048), yields_(crowded ? 64 : 0), spins_(most_) {}

  /// Spins or yields once; false when it is time to sleep.
  [[nodiscard]] bool wait() noexcept;
  /// Whether the last wait() was the first that did not spin.
  [[nodiscard]] bool has_just_lost() const noexcept { return round_ == spins_ + 1; }
  /// To be called when the wait is over.
  void renew() noexcept {
    if (round_ == 0) return;
    spins_ = round_ > spins_ ? std::max(least_, spins_ / 2) : std::min(most_, spins_ + spins_ / 4);
    round_ = 0;
  }

 private:
  int least_;
  int most_;
  int yields_;
  int spins_;
  int round_ = 0;
};

}  // namespace tutti::native
