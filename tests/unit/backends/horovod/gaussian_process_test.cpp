#include "autotune/gaussian_process.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tutti::horovod {
namespace {

class GaussianProcessTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!GaussianProcess::is_available()) GTEST_SKIP() << "built without Eigen";
  }
};

const std::vector<Point> kPoints = {{0.0}, {0.2}, {0.45}, {0.7}, {1.0}};

std::vector<double> values_of(const std::vector<Point>& points) {
  std::vector<double> values;
  for (const Point& point : points) values.push_back(100 + 30 * std::sin(4 * point[0]));
  return values;
}

TEST_F(GaussianProcessTest, WithoutNoiseItGoesThroughThePoints) {
  GaussianProcess process(0);
  const std::vector<double> values = values_of(kPoints);
  process.fit(kPoints, values);
  for (std::size_t i = 0; i < kPoints.size(); ++i) {
    const auto prediction = process.predict(kPoints[i]);
    EXPECT_NEAR(prediction.mean, values[i], 0.05);
    EXPECT_LT(prediction.deviation, 0.1);
  }
}

TEST_F(GaussianProcessTest, PredictsASmoothFunctionBetweenThePoints) {
  GaussianProcess process(0.1);
  process.fit(kPoints, values_of(kPoints));
  for (double x = 0; x <= 1; x += 0.05) EXPECT_NEAR(process.predict({x}).mean, values_of({{x}})[0], 4) << x;
  // It is sure near the points and unsure far away.
  EXPECT_LT(process.predict({0.21}).deviation, process.predict({0.33}).deviation);
  EXPECT_LT(process.predict({0.33}).deviation, process.predict({3}).deviation);
}

TEST_F(GaussianProcessTest, WithNoiseItSmoothes) {
  GaussianProcess process(10);
  std::vector<Point> points;
  std::vector<double> values;
  for (int i = 0; i < 20; ++i) {
    points.push_back({i / 19.0});
    values.push_back(50 + (i % 2 == 0 ? 10 : -10));
  }
  process.fit(points, values);
  for (const Point& point : points) EXPECT_NEAR(process.predict(point).mean, 50, 6);
}

TEST_F(GaussianProcessTest, TheImprovementIsThatOfTheNormalDistribution) {
  GaussianProcess process(0);
  process.fit(kPoints, values_of(kPoints));
  const double best = process.predict({0.45}).mean;
  const Point place = {0.33};
  const auto prediction = process.predict(place);
  // Integrated in small steps instead of by the formula.
  double expected = 0;
  const double step = 1e-3;
  for (double z = -8; z < 8; z += step) {
    const double gain = prediction.mean + z * prediction.deviation - best - 0.01;
    if (gain > 0) expected += gain * std::exp(-0.5 * z * z) / std::sqrt(2 * M_PI) * step;
  }
  EXPECT_NEAR(process.expected_improvement(place, 0.01), expected, 1e-2 * (1 + expected));
  EXPECT_GT(process.expected_improvement(place, 0.01), process.expected_improvement({0.99}, 0.01));
}

TEST_F(GaussianProcessTest, EqualPointsAndEqualValuesAreNoProblem) {
  GaussianProcess process(0);
  const std::vector<Point> points = {{0.5, 0.5}, {0.5, 0.5}, {0.1, 0.9}};
  process.fit(points, std::vector<double>{7, 7, 7});
  EXPECT_NEAR(process.predict({0.3, 0.3}).mean, 7, 1e-9);
  EXPECT_TRUE(std::isfinite(process.expected_improvement({0.3, 0.3}, 0.01)));
  process.fit(points, std::vector<double>{1, 3, 0});
  EXPECT_NEAR(process.predict({0.5, 0.5}).mean, 2, 0.1);
  process.fit({}, {});
  EXPECT_EQ(process.expected_improvement({0.1, 0.1}, 0), 0);
}

}  // namespace
}  // namespace tutti::horovod
