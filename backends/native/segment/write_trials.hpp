#pragma once

#include <cstdint>

namespace tutti::native {

/// Time that moving some bytes took.
struct MoveCost {
  double ns = 0;
  double bytes = 0;

  [[nodiscard]] double per_byte() const noexcept { return ns / bytes; }
  /// Adds a move; of one that took much longer per byte than those before, only a part counts, because the thread may
  /// have been preempted.
  void add(double length, double took) noexcept;
};

/// Decides when chunks are written another way than usual, for comparison, and which way is the usual one from then on.
class WriteTrials {
 public:
  struct Rule {
    std::int64_t first;     ///< bytes before the first trial
    std::int64_t usual;     ///< bytes between trials; so many that the cost of trials is negligible
    std::int64_t timed;     ///< bytes in each of the two timed phases
    double gain_to_stream;  ///< the least gain for which chunks go past the caches
    double gain_to_go_on;   ///< the same while they go there
  };
  explicit constexpr WriteTrials(const Rule& rule) noexcept : rule_(rule), left_(rule.first) {}

  /// `usual` is most of the time. Two timed phases follow: `compared` writes the usual way, `tried` the other way.
  enum class Phase : std::uint8_t { usual, compared, tried };
  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  /// Whether the usual way is past the caches.
  [[nodiscard]] bool streams() const noexcept { return streams_; }
  /// Whether the next chunk goes past the caches.
  [[nodiscard]] bool streams_next() const noexcept { return streams_ != (phase_ == Phase::tried); }
  /// Whether the slots are where this phase leaves them: not in the first half of a trial.
  [[nodiscard]] bool has_settled() const noexcept { return phase_ != Phase::tried || left_ <= rule_.timed / 2; }

  /// Counts a chunk; true when it was the last one of its phase, and the next phase is to be begun.
  [[nodiscard]] bool pass(std::uint64_t bytes) noexcept { return (left_ -= static_cast<std::int64_t>(bytes)) <= 0; }
  /// Begins the phase that follows: after `tried` with judge() before it, if the trial has taught something.
  void begin_next() noexcept;
  /// Compares the costs per byte of the two timed phases. The usual way changes when it has lost twice in a row.
  void judge(double compared, double tried) noexcept;

  /// Number of trials judged, and the costs per byte through and past the caches in the last one; 0 before the first.
  [[nodiscard]] std::uint32_t judged() const noexcept { return judged_; }
  [[nodiscard]] double last_through() const noexcept { return last_through_; }
  [[nodiscard]] double last_past() const noexcept { return last_past_; }

 private:
  Rule rule_;
  Phase phase_ = Phase::usual;
  bool streams_ = false;
  int lost_ = 0;  // consecutive trials that the usual way has lost
  std::int64_t left_;
  std::uint32_t judged_ = 0;
  double last_through_ = 0;
  double last_past_ = 0;
};

}  // namespace tutti::native
