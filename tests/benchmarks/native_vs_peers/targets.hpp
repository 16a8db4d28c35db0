#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results.hpp"

namespace tutti::bench {

/// A performance target of the native engine, judged by one run.
struct Verdict {
  enum class State : std::uint8_t { met, missed, not_measured };

  std::string what;    ///< "allreduce, 1 MiB to 512 MiB, 2 ranks"
  std::string target;  ///< ">= 2 x the fastest peer"
  State state = State::not_measured;
  double worst = 0;     ///< the lowest ratio in the range
  std::string at = {};  ///< cell of the lowest ratio, and whether noise could explain a miss
  int cells = 0;        ///< number of judged cells
};

[[nodiscard]] std::string name(Verdict::State state);

/// All targets. A target whose operations, sizes or ranks the run did not measure is `not_measured`.
[[nodiscard]] std::vector<Verdict> judge(const Results& results);

}  // namespace tutti::bench
