#pragma once

#include <vector>

#include "conformance/cases/case.hpp"

namespace tutti::test {

/// Part of the cross product of operation, type, reduction, count and in-place that a plan contains.
enum class Coverage : std::uint8_t {
  full,     ///< the whole cross product
  rotated,  ///< every operation x type x reduction once; count and in-place vary from case to case
};

struct PlanOptions {
  int ranks = 1;
  std::uint64_t seed = 1;
  Coverage coverage = Coverage::full;
  bool large = true;  ///< also messages of many chunks
};

/// The cases of a run, the same on every rank.
[[nodiscard]] std::vector<Case> make_plan(const PlanOptions& options);

/// A case drawn at random: any operation, type, reduction, root, alignment, up to `max_count` elements.
[[nodiscard]] Case random_case(Random& random, int ranks, std::uint64_t max_count);

/// Runs all cases in order. Wrong data goes to the report; an Error ends the run.
void run_plan(const Communicator& comm, const std::vector<Case>& plan, Report& report,
              const Placement* placement = nullptr);

}  // namespace tutti::test
