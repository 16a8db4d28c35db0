#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "analysis/cell_key.hpp"

namespace tutti::tools {

enum class ChangeKind : std::uint8_t {
  none,    ///< within the noise
  faster,  ///< beyond the noise
  slower,
  broken,    ///< succeeded before, fails now
  repaired,  ///< failed before, succeeds now
};

/// "SLOWER", "faster", ...; empty for ChangeKind::none.
[[nodiscard]] std::string_view name(ChangeKind kind) noexcept;

/// A backend's cell in two results. The pointers refer to them.
struct Change {
  CellKey key;
  const SweepRow* before = nullptr;
  const SweepRow* after = nullptr;
  double ratio = 0;  ///< of the times, after / before; 0 unless both succeeded
  ChangeKind kind = ChangeKind::none;
};

/// All cells that both results have, in the order of keys and of the backends in `before`.
[[nodiscard]] std::vector<Change> compare_results(const SweepResults& before, const SweepResults& after);

/// The changes that are broken, or slower by more than `share` (0.1 for 10 %) and beyond the noise.
[[nodiscard]] std::vector<Change> find_regressions(const std::vector<Change>& changes, double share);

}  // namespace tutti::tools
