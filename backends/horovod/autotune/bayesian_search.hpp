#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "autotune/gaussian_process.hpp"

namespace tutti::horovod {

/// The values that a parameter may take.
struct Range {
  double least = 0;
  double most = 1;
};

/// Proposes points of a box, the one of largest expected improvement each time. Equal seeds and scores give equal
/// points. A build without Eigen proposes points that fill the box evenly.
class BayesianSearch {
 public:
  struct Options {
    double noise = 0.8;    ///< standard deviation of a score, in its unit
    double margin = 0.01;  ///< gain that does not count, in the unit of the scores
    int restarts = 25;
    std::uint64_t seed = 0;
  };

  BayesianSearch(std::vector<Range> box, Options options);

  /// Adds the score of a point, which may be outside of the box.
  void add(const Point& point, double score);

  /// The next point to try, in the box.
  [[nodiscard]] Point next();

 private:
  [[nodiscard]] Point scaled(const Point& point) const;
  [[nodiscard]] Point unscaled(const Point& point) const;
  [[nodiscard]] Point climb(Point from) const;
  [[nodiscard]] double random();

  std::vector<Range> box_;
  Options options_;
  std::mt19937_64 engine_;
  std::vector<Point> points_;  ///< in units of the box
  std::vector<double> scores_;
  GaussianProcess process_;
  std::uint64_t even_points_ = 0;
};

}  // namespace tutti::horovod
