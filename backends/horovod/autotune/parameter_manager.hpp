#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "autotune/bayesian_search.hpp"
#include "autotune/tuned_values.hpp"
#include "autotune/tuning_log.hpp"
#include "autotune/tuning_plan.hpp"

namespace tutti::horovod {

/// Tunes the engine's parameters on the coordinator while the job runs: measures the bytes per time with one set of
/// values after the other and keeps the best. After the search over fusion threshold and cycle time come the switches,
/// one by one, then the comparison of the winner with the start. Times are passed in. Not synchronised.
class ParameterManager {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `log` may be null; it outlives the manager.
  ParameterManager(TuningPlan plan, TuningLog* log, Time start);

  /// The values to use now: the ones that are being measured, or the best ones.
  [[nodiscard]] const TunedValues& values() const noexcept { return values_; }
  /// Whether tuning goes on.
  [[nodiscard]] bool is_active() const noexcept { return phase_ != Phase::done; }
  /// The best values so far. The score is 0 before the first one is known.
  [[nodiscard]] TuningResult best() const;

  /// Tells that the tensors of these names, `bytes` in all, have been reduced. Returns whether values() or is_active()
  /// has changed, so that the other ranks must be told.
  bool update(std::span<const std::string> names, std::uint64_t bytes, Time now);

  /// Ends tuning early: logs the point that was being measured, if it has a sample, and then the best values, which
  /// become values(). Nothing happens when tuning is complete.
  void finish(Time now);

  /// Tunes again from the start, without warm-up.
  void restart(Time now);

 private:
  enum class Phase : std::uint8_t { searching, switching, confirming, done };

  bool sample_ended(Time now);
  bool score_ended(double score, Time now);
  void take_score(double score);
  void searched(double score);
  void confirmed(double score);
  void begin_switches();
  void next_switch_value();
  void begin_confirmation();
  void complete();
  void watch(double bytes_per_step, Time now);
  void reset_samples(Time now);
  [[nodiscard]] std::vector<TunedValues> fixed_points() const;
  [[nodiscard]] Point point_of(const TunedValues& values) const;
  [[nodiscard]] TunedValues at(const Point& point) const;
  [[nodiscard]] BayesianSearch make_search() const;

  TuningPlan plan_;
  TuningLog* log_;
  Phase phase_ = Phase::searching;
  TunedValues values_;
  TunedValues best_;
  double best_score_ = 0;
  int warmup_left_;

  // Samples of the point that is being measured.
  std::unordered_map<std::string, int> counts_;
  std::vector<double> samples_;
  std::uint64_t bytes_ = 0;
  Time sample_start_;

  std::vector<TunedValues> first_points_;
  std::size_t points_ = 0;
  std::optional<BayesianSearch> search_;
  std::size_t switch_ = 0;
  std::size_t switch_value_ = 0;
  double known_value_ = 0;
  int confirmation_ = 0;
  double confirmed_best_ = 0;
  double confirmed_start_ = 0;
  double tuned_bytes_per_step_ = 0;
  int changed_samples_ = 0;
};

}  // namespace tutti::horovod
