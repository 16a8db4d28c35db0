#include "autotune/bayesian_search.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tutti::horovod {
namespace {

/// The number's digits behind the point, in reverse order: evenly spread over [0, 1).
double halton(std::uint64_t index, std::uint64_t base) noexcept {
  double value = 0;
  double digit = 1;
  for (; index > 0; index /= base) {
    digit /= static_cast<double>(base);
    value += digit * static_cast<double>(index % base);
  }
  return value;
}

constexpr std::array<std::uint64_t, 6> kPrimes = {2, 3, 5, 7, 11, 13};

}  // namespace

BayesianSearch::BayesianSearch(std::vector<Range> box, Options options)
    : box_(std::move(box)), options_(options), engine_(options.seed), process_(options.noise) {}

void BayesianSearch::add(const Point& point, double score) {
  points_.push_back(scaled(point));
  scores_.push_back(score);
}

Point BayesianSearch::next() {
  Point best(box_.size());
  if (!GaussianProcess::is_available()) {
    ++even_points_;
    for (std::size_t i = 0; i < best.size(); ++i) best[i] = halton(even_points_, kPrimes[i % kPrimes.size()]);
    return unscaled(best);
  }
  process_.fit(points_, scores_);
  double best_gain = -1;
  for (int i = 0; i < options_.restarts; ++i) {
    Point start(box_.size());
    for (double& coordinate : start) coordinate = random();
    Point place = climb(std::move(start));
    const double gain = process_.expected_improvement(place, options_.margin);
    if (gain <= best_gain) continue;
    best_gain = gain;
    best = std::move(place);
  }
  return unscaled(best);
}

/// Goes to the best neighbour in steps that become smaller.
Point BayesianSearch::climb(Point from) const {
  double gain = process_.expected_improvement(from, options_.margin);
  for (double step = 0.1; step > 0.002; step /= 2) {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < from.size(); ++i) {
        for (const double direction : {-step, step}) {
          Point neighbour = from;
          neighbour[i] = std::clamp(neighbour[i] + direction, 0.0, 1.0);
          const double found = process_.expected_improvement(neighbour, options_.margin);
          if (found <= gain) continue;
          gain = found;
          from = std::move(neighbour);
          moved = true;
        }
      }
    }
  }
  return from;
}

// Not a std::uniform_real_distribution, whose numbers differ between standard libraries.
double BayesianSearch::random() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

Point BayesianSearch::scaled(const Point& point) const {
  Point result(point.size());
  for (std::size_t i = 0; i < point.size(); ++i)
    result[i] = (point[i] - box_[i].least) / (box_[i].most - box_[i].least);
  return result;
}

Point BayesianSearch::unscaled(const Point& point) const {
  Point result(point.size());
  for (std::size_t i = 0; i < point.size(); ++i) result[i] = box_[i].least + point[i] * (box_[i].most - box_[i].least);
  return result;
}

}  // namespace tutti::horovod
