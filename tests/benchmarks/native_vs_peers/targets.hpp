#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results.hpp"

namespace tutti::bench {

/// A row of the project's list of what the native engine is to reach, judged by one run.
struct Verdict {
  enum class State : std::uint8_t { met, missed, not_measured };

  std::string what;    ///< "allreduce, 1 MiB to 512 MiB, 2 ranks"
  std::string target;  ///< ">= 2 x the fastest peer"
  State state = State::not_measured;
  double worst = 0;     ///< the lowest ratio in the range
  std::string at = {};  ///< where that was, and whether noise could explain a miss
  int cells = 0;        ///< how many were judged
};

[[nodiscard]] std::string name(Verdict::State state);

/// All rows. One that a run with other operations, sizes or ranks says nothing about is `not_measured`.
[[nodiscard]] std::vector<Verdict> judge(const Results& results);

}  // namespace tutti::bench
