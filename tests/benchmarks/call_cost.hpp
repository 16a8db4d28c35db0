#pragma once

#include <algorithm>
#include <chrono>

/// Nanoseconds of a call; the least of several rounds, since other programs only make it longer.
template <typename Call>
double call_cost_ns(Call call) {
  constexpr int kRounds = 11;
  constexpr int kCalls = 100000;
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int index = 0; index < kCalls; ++index) call();
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    best = std::min(best, taken.count() / kCalls);
  }
  return best;
}
