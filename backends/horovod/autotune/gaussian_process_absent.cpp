// The process of a build without Eigen, which knows nothing.
#include "autotune/gaussian_process.hpp"

namespace tutti::horovod {

struct GaussianProcess::Model {};

GaussianProcess::GaussianProcess(double noise) : noise_(noise) {}
GaussianProcess::~GaussianProcess() = default;
GaussianProcess::GaussianProcess(GaussianProcess&&) noexcept = default;
GaussianProcess& GaussianProcess::operator=(GaussianProcess&&) noexcept = default;

bool GaussianProcess::is_available() noexcept { return false; }
void GaussianProcess::fit(std::span<const Point>, std::span<const double>) {}
GaussianProcess::Prediction GaussianProcess::predict(const Point&) const { return {}; }
double GaussianProcess::expected_improvement(const Point&, double) const { return 0; }

}  // namespace tutti::horovod
