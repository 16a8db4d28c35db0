#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sinks/timeline/layout.hpp"

namespace tutti::profiling {

/// An interval of a thread that is to be placed.
struct Interval {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t event = 0;
  std::uint32_t region = 0;
  int source = -1;
  bool operation = false;
};

/// Intervals of a thread, split.
struct Nesting {
  std::vector<Slice> nested;       ///< properly nested, with regions around their outermost intervals; track 0
  std::vector<Interval> crossing;  ///< intervals that would not nest, by begin
};

/// Splits the intervals: an operation that overlaps another operation of its source, or that begins or ends within a
/// call, is asynchronous and does not nest; calls nest as they are.
[[nodiscard]] Nesting nest(std::vector<Interval> intervals);

/// Number of a lane for each interval, so that no two on a lane overlap. They must be ordered by begin.
[[nodiscard]] std::vector<std::uint32_t> spread(std::span<const Interval> intervals);

}  // namespace tutti::profiling
