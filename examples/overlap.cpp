// Several reductions are pending while the host computes, as with gradients that become ready one by one.
#include <cmath>
#include <cstdio>
#include <vector>

#include "tutti/tutti.hpp"

namespace {

/// Stands in for the backward pass of a layer.
double compute(std::vector<float>& gradient, int layer) {
  double norm = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = std::sin(static_cast<float>(i % 100) + static_cast<float>(layer));
    norm += gradient[i] * gradient[i];
  }
  return norm;
}

}  // namespace

int main() {
  try {
    const tutti::Communicator comm = tutti::world();
    constexpr int kLayers = 4;
    std::vector<std::vector<float>> gradients(kLayers, std::vector<float>(100'000));
    std::vector<tutti::Work> works;
    double before = 0;
    for (int layer = kLayers - 1; layer >= 0; --layer) {
      std::vector<float>& gradient = gradients[static_cast<std::size_t>(layer)];
      before += compute(gradient, layer);
      works.push_back(comm.allreduce(gradient, {.op = tutti::Reduction::average, .async = true}));
    }
    for (tutti::Work& work : works) work.wait();
    double after = 0;
    for (const auto& gradient : gradients) {
      for (const float value : gradient) after += value * value;
    }
    if (comm.rank() == 0)
      std::printf("%d layers on %s: norm %.6g before, %.6g after\n", kLayers, comm.backend().data(), before, after);
  } catch (const tutti::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
