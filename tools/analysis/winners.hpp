#pragma once

#include <vector>

#include "analysis/cell_key.hpp"

namespace tutti::tools {

/// The fastest backend of a cell. The pointers refer to the results.
struct Winner {
  CellKey key;
  const SweepRow* best = nullptr;
  const SweepRow* second = nullptr;  ///< the next best
  double margin = 0;                 ///< the next best takes longer by this share: 0.25 for 25 %
  bool is_beyond_noise = false;
};

/// In the order of the keys. Cells in which fewer than two backends succeeded have no winner.
[[nodiscard]] std::vector<Winner> find_winners(const SweepResults& results);
std::vector<Winner> find_winners(SweepResults&&) = delete;

}  // namespace tutti::tools
