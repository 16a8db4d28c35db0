#include "sweep/rank/computation.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tutti::tools {
namespace {

constexpr std::size_t kValues = 16384;
constexpr int kTrials = 5;
constexpr int kPassesPerTrial = 200;

}  // namespace

Computation::Computation(std::uint64_t passes) : passes_(passes), values_(kValues, 1.0F) {}

void Computation::pass() noexcept {
  // Tends to 2 from any start, so that the values never become slow ones.
  for (float& value : values_) value = value * 0.5F + 1.0F;
  asm volatile("" : : "r"(values_.data()) : "memory");  // the compiler must not merge passes
}

void Computation::run() noexcept {
  for (std::uint64_t i = 0; i < passes_; ++i) pass();
}

std::uint64_t Computation::passes_for(double seconds) {
  Computation computation(kPassesPerTrial);
  double least = HUGE_VAL;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto begin = std::chrono::steady_clock::now();
    computation.run();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return static_cast<std::uint64_t>(std::max(1.0, std::round(seconds / least * kPassesPerTrial)));
}

}  // namespace tutti::tools
