#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results.hpp"

namespace tutti::bench {

/// A performance target of the native engine, judged by one run.
struct Verdict {
  enum class State : std::uint8_t { met, missed, not_measured };

  std::string what;    ///< "allreduce, 1 MiB to 512 MiB, near cores, 2 ranks"
  std::string target;  ///< ">= 1.4 x the fastest library"
  State state = State::not_measured;
  double worst = 0;     ///< the lowest ratio of the cells that miss the target, or of all if none does
  std::string at = {};  ///< cell of that ratio, and whether noise could explain that it is too low
  int cells = 0;        ///< number of judged cells
};

[[nodiscard]] std::string name(Verdict::State state);

/// All targets. A target whose operations, sizes, ranks or distance of the cores the run did not measure is
/// `not_measured`. A ratio that is too low by less than the spread of the two times is marked; it is a miss unless the
/// target says "or within the spread".
[[nodiscard]] std::vector<Verdict> judge(const Results& results);

}  // namespace tutti::bench
