#include "autotune/gaussian_process.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace tutti::horovod {
namespace {

/// Length scale and amplitude of the kernel.
struct Kernel {
  double length = 1;
  double amplitude = 1;

  [[nodiscard]] double operator()(const Point& a, const Point& b) const noexcept {
    double distance = 0;
    for (std::size_t i = 0; i < a.size(); ++i) distance += (a[i] - b[i]) * (a[i] - b[i]);
    return amplitude * amplitude * std::exp(-0.5 * distance / (length * length));
  }
};

using Factor = Eigen::LLT<Eigen::MatrixXd>;

// Relative to values of deviation 1: keeps the matrix regular when a point was observed twice.
constexpr double kLeastNoise = 1e-4;

Factor factor_of(std::span<const Point> points, const Kernel& kernel, double noise) {
  const auto count = static_cast<Eigen::Index>(points.size());
  Eigen::MatrixXd matrix(count, count);
  for (Eigen::Index row = 0; row < count; ++row) {
    for (Eigen::Index column = 0; column <= row; ++column) {
      const double covariance = kernel(points[static_cast<std::size_t>(row)], points[static_cast<std::size_t>(column)]);
      matrix(row, column) = matrix(column, row) = covariance;
    }
    matrix(row, row) += noise * noise;
  }
  return Factor(matrix);
}

/// Logarithm of the likelihood, less a constant.
double likelihood(std::span<const Point> points, const Eigen::VectorXd& values, const Kernel& kernel, double noise) {
  const Factor factor = factor_of(points, kernel, noise);
  if (factor.info() != Eigen::Success) return -std::numeric_limits<double>::infinity();
  const double fit = values.dot(factor.solve(values));
  const Eigen::MatrixXd lower = factor.matrixL();
  return -0.5 * fit - lower.diagonal().array().log().sum();
}

/// Searches on a grid of logarithms that becomes finer around the best place.
Kernel most_likely(std::span<const Point> points, const Eigen::VectorXd& values, double noise) {
  // Shorter than the distance of neighbouring points, or longer than the region, the data cannot tell.
  constexpr double kLeastLength = 0.05;
  constexpr double kMostLength = 4;
  constexpr double kLeastAmplitude = 0.1;
  constexpr double kMostAmplitude = 10;
  constexpr int kSteps = 4;
  Kernel best;
  double best_likelihood = likelihood(points, values, best, noise);
  double step = std::numbers::ln2;
  for (int round = 0; round < 4; ++round, step /= 3) {
    const Kernel centre = best;
    for (int i = -kSteps; i <= kSteps; ++i) {
      for (int j = -kSteps; j <= kSteps; ++j) {
        const Kernel kernel{std::clamp(centre.length * std::exp(i * step), kLeastLength, kMostLength),
                            std::clamp(centre.amplitude * std::exp(j * step), kLeastAmplitude, kMostAmplitude)};
        const double found = likelihood(points, values, kernel, noise);
        if (found <= best_likelihood) continue;
        best_likelihood = found;
        best = kernel;
      }
    }
  }
  return best;
}

}  // namespace

/// The fitted process; its values have mean 0 and deviation 1.
struct GaussianProcess::Model {
  std::vector<Point> points;
  double mean = 0;
  double deviation = 1;
  Kernel kernel;
  Factor factor;
  Eigen::VectorXd weights;
  double best_mean = 0;  ///< largest predicted mean of the points, in the unit of the values

  [[nodiscard]] Eigen::VectorXd covariances(const Point& point) const {
    Eigen::VectorXd result(static_cast<Eigen::Index>(points.size()));
    for (std::size_t i = 0; i < points.size(); ++i) result(static_cast<Eigen::Index>(i)) = kernel(points[i], point);
    return result;
  }
};

GaussianProcess::GaussianProcess(double noise) : noise_(noise) {}
GaussianProcess::~GaussianProcess() = default;
GaussianProcess::GaussianProcess(GaussianProcess&&) noexcept = default;
GaussianProcess& GaussianProcess::operator=(GaussianProcess&&) noexcept = default;

bool GaussianProcess::is_available() noexcept { return true; }

void GaussianProcess::fit(std::span<const Point> points, std::span<const double> values) {
  model_.reset();
  if (points.empty()) return;
  auto model = std::make_unique<Model>();
  model->points.assign(points.begin(), points.end());
  const auto count = static_cast<double>(values.size());
  model->mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double square = 0;
  for (const double value : values) square += (value - model->mean) * (value - model->mean);
  model->deviation = square > 0 ? std::sqrt(square / count) : 1;
  Eigen::VectorXd scaled(static_cast<Eigen::Index>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    scaled(static_cast<Eigen::Index>(i)) = (values[i] - model->mean) / model->deviation;
  const double noise = std::max(noise_ / model->deviation, kLeastNoise);
  model->kernel = most_likely(points, scaled, noise);
  model->factor = factor_of(points, model->kernel, noise);
  model->weights = model->factor.solve(scaled);
  model_ = std::move(model);
  model_->best_mean = -std::numeric_limits<double>::infinity();
  for (const Point& point : points) model_->best_mean = std::max(model_->best_mean, predict(point).mean);
}

GaussianProcess::Prediction GaussianProcess::predict(const Point& point) const {
  if (!model_) return {};
  const Eigen::VectorXd covariances = model_->covariances(point);
  const double mean = covariances.dot(model_->weights);
  const double known = covariances.dot(model_->factor.solve(covariances));
  const double variance = std::max(model_->kernel(point, point) - known, 0.0);
  return {model_->mean + mean * model_->deviation, std::sqrt(variance) * model_->deviation};
}

double GaussianProcess::expected_improvement(const Point& point, double margin) const {
  if (!model_) return 0;
  const Prediction prediction = predict(point);
  const double gain = prediction.mean - model_->best_mean - margin;
  if (prediction.deviation <= 0) return std::max(gain, 0.0);
  const double z = gain / prediction.deviation;
  const double density = std::exp(-0.5 * z * z) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return gain * below + prediction.deviation * density;
}

}  // namespace tutti::horovod
