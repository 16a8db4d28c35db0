#pragma once

#include <memory>
#include <span>
#include <vector>

namespace tutti::horovod {

/// Coordinates, scaled so that the region of interest is about one unit wide.
using Point = std::vector<double>;

/// Gaussian process with a squared exponential kernel: predicts a function from noisy values at some points. Length
/// scale and amplitude are those of the largest likelihood.
class GaussianProcess {
 public:
  struct Prediction {
    double mean = 0;
    double deviation = 0;  ///< standard deviation of the function, without the noise
  };

  /// `noise`: standard deviation of the values, in their unit.
  explicit GaussianProcess(double noise);
  ~GaussianProcess();
  GaussianProcess(GaussianProcess&&) noexcept;
  GaussianProcess& operator=(GaussianProcess&&) noexcept;

  /// Whether this build has the linear algebra (Eigen). Without it fit() does nothing, and every prediction is the mean
  /// of nothing: 0, with deviation 0.
  [[nodiscard]] static bool is_available() noexcept;

  /// Replaces the observations. All points have the same number of coordinates.
  void fit(std::span<const Point> points, std::span<const double> values);

  [[nodiscard]] Prediction predict(const Point& point) const;

  /// Mean gain over the best predicted mean of the observed points, less `margin`. 0 without observations.
  [[nodiscard]] double expected_improvement(const Point& point, double margin) const;

 private:
  struct Model;
  double noise_;
  std::unique_ptr<Model> model_;
};

}  // namespace tutti::horovod
