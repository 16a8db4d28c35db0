#include "autotune/parameter_manager.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tutti::horovod {
namespace {

/// Upstream's first points: fusion threshold in MB and cycle time in ms.
constexpr std::array<std::pair<double, double>, 4> kTestPoints = {{{4, 5}, {32, 50}, {16, 25}, {8, 10}}};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

ParameterManager::ParameterManager(TuningPlan plan, TuningLog* log, Time start)
    : plan_(std::move(plan)), log_(log), warmup_left_(plan_.warmup_scores) {
  restart(start);
  warmup_left_ = plan_.warmup_scores;
}

void ParameterManager::restart(Time now) {
  phase_ = Phase::searching;
  best_ = plan_.start;
  best_score_ = 0;
  warmup_left_ = 0;
  first_points_ = fixed_points();
  points_ = 0;
  search_.emplace(make_search());
  changed_samples_ = 0;
  values_ = first_points_.front();
  reset_samples(now);
}

/// The points that are tried first. Those that differ only in values which the user has set appear once.
std::vector<TunedValues> ParameterManager::fixed_points() const {
  std::vector<TunedValues> points;
  const bool tunes_nothing = !plan_.tunes_fusion && !plan_.tunes_cycle;
  if (plan_.tries_start || tunes_nothing) points.push_back(plan_.start);
  for (const auto& [fusion_mb, cycle_ms] : kTestPoints) {
    TunedValues values = plan_.start;
    if (plan_.tunes_fusion) values.fusion_threshold_mb = fusion_mb;
    if (plan_.tunes_cycle) values.cycle_time_ms = cycle_ms;
    if (std::ranges::find(points, values) == points.end()) points.push_back(values);
  }
  return points;
}

BayesianSearch ParameterManager::make_search() const {
  std::vector<Range> box;
  if (plan_.tunes_fusion) box.push_back(plan_.fusion_mb);
  if (plan_.tunes_cycle) box.push_back(plan_.cycle_ms);
  return {std::move(box), plan_.search};
}

Point ParameterManager::point_of(const TunedValues& values) const {
  Point point;
  if (plan_.tunes_fusion) point.push_back(values.fusion_threshold_mb);
  if (plan_.tunes_cycle) point.push_back(values.cycle_time_ms);
  return point;
}

TunedValues ParameterManager::at(const Point& point) const {
  TunedValues values = plan_.start;
  std::size_t next = 0;
  if (plan_.tunes_fusion) values.fusion_threshold_mb = point[next++];
  if (plan_.tunes_cycle) values.cycle_time_ms = point[next++];
  return values;
}

TuningResult ParameterManager::best() const {
  const auto inner = static_cast<std::size_t>(best_.inner_backend);
  return {.values = best_,
          .score = best_score_,
          .inner_backend = inner < plan_.inner_backends.size() ? plan_.inner_backends[inner] : ""};
}

// A sample ends with the tensor that has been seen often enough. Upstream ends it one tensor later and counts the time,
// but not the bytes, of that one.
bool ParameterManager::update(std::span<const std::string> names, std::uint64_t bytes, Time now) {
  if (phase_ == Phase::done && !plan_.watches_workload) return false;
  bytes_ += bytes;
  const int enough = static_cast<int>(samples_.size() + 1) * plan_.steps_per_sample;
  bool is_whole = false;
  for (const std::string& name : names) is_whole |= ++counts_[name] >= enough;
  return is_whole && sample_ended(now);
}

bool ParameterManager::sample_ended(Time now) {
  const double microseconds = std::chrono::duration<double, std::micro>(now - sample_start_).count();
  const auto bytes = static_cast<double>(bytes_);
  samples_.push_back(microseconds > 0 ? bytes / microseconds : 0);
  bytes_ = 0;
  sample_start_ = now;
  if (phase_ == Phase::done) {
    watch(bytes / plan_.steps_per_sample, now);
    return is_active();
  }
  tuned_bytes_per_step_ = bytes / plan_.steps_per_sample;
  if (static_cast<int>(samples_.size()) < plan_.samples_per_score) return false;
  return score_ended(median(samples_), now);
}

bool ParameterManager::score_ended(double score, Time now) {
  const bool counts = warmup_left_ == 0;
  if (counts) {
    take_score(score);
  } else {
    --warmup_left_;
  }
  reset_samples(now);
  return counts;
}

void ParameterManager::take_score(double score) {
  if (log_ != nullptr) log_->add(values_, score);
  if (phase_ != Phase::confirming && score > best_score_) {
    best_score_ = score;
    best_ = values_;
  }
  if (phase_ == Phase::searching) {
    searched(score);
  } else if (phase_ == Phase::switching) {
    ++switch_value_;
    next_switch_value();
  } else {
    confirmed(score);
  }
}

void ParameterManager::searched(double score) {
  ++points_;
  const bool tunes_nothing = !plan_.tunes_fusion && !plan_.tunes_cycle;
  const auto most = static_cast<std::size_t>(std::max(plan_.most_points, 0)) + 1;
  if (tunes_nothing || points_ >= std::max(most, std::size_t{plan_.tries_start ? 2u : 1u})) {
    begin_switches();
    return;
  }
  search_->add(point_of(values_), score);
  values_ = points_ < first_points_.size() ? first_points_[points_] : at(search_->next());
}

void ParameterManager::begin_switches() {
  phase_ = Phase::switching;
  switch_ = 0;
  switch_value_ = 0;
  next_switch_value();
}

/// Begins to measure the next value of a switch; the one of the best point before is known already.
void ParameterManager::next_switch_value() {
  for (; switch_ < plan_.switches.size(); ++switch_, switch_value_ = 0) {
    const SwitchChoice& choice = plan_.switches[switch_];
    if (switch_value_ == 0) known_value_ = get(best_, choice.parameter);
    for (; switch_value_ < choice.values.size(); ++switch_value_) {
      if (choice.values[switch_value_] == known_value_) continue;
      TunedValues values = best_;
      set(values, choice.parameter, choice.values[switch_value_]);
      values_ = values;
      return;
    }
  }
  begin_confirmation();
}

void ParameterManager::begin_confirmation() {
  if (!plan_.tries_start || plan_.confirmations <= 0 || best_ == plan_.start) {
    complete();
    return;
  }
  phase_ = Phase::confirming;
  confirmation_ = 0;
  confirmed_best_ = confirmed_start_ = 0;
  values_ = best_;
}

// The best of many noisy scores is too high; only new ones can be compared with those of the start.
void ParameterManager::confirmed(double score) {
  const bool was_best = confirmation_ % 2 == 0;
  (was_best ? confirmed_best_ : confirmed_start_) += score;
  ++confirmation_;
  if (confirmation_ < 2 * plan_.confirmations) {
    values_ = was_best ? plan_.start : best_;
    return;
  }
  const bool wins = confirmed_best_ > confirmed_start_;
  if (!wins) best_ = plan_.start;
  best_score_ = (wins ? confirmed_best_ : confirmed_start_) / plan_.confirmations;
  complete();
}

void ParameterManager::complete() {
  phase_ = Phase::done;
  values_ = best_;
  if (log_ != nullptr) log_->add(best_, best_score_);
}

void ParameterManager::finish(Time now) {
  if (phase_ == Phase::done) return;
  if (samples_.empty() && bytes_ > 0) (void)sample_ended(now);
  if (!samples_.empty()) {
    const double score = median(samples_);
    if (log_ != nullptr) log_->add(values_, score);
    // Fewer samples must not beat a whole score.
    if (best_score_ == 0) {
      best_score_ = score;
      best_ = values_;
    }
  }
  complete();
  reset_samples(now);
}

void ParameterManager::watch(double bytes_per_step, Time now) {
  const double ratio = tuned_bytes_per_step_ > 0 ? bytes_per_step / tuned_bytes_per_step_ : 1;
  changed_samples_ = ratio < 0.75 || ratio > 1.25 ? changed_samples_ + 1 : 0;
  if (changed_samples_ == 2) {
    restart(now);
    return;
  }
  counts_.clear();
  samples_.clear();
}

void ParameterManager::reset_samples(Time now) {
  counts_.clear();
  samples_.clear();
  bytes_ = 0;
  sample_start_ = now;
}

}  // namespace tutti::horovod
