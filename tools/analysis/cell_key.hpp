#pragma once

#include <compare>
#include <map>
#include <string>
#include <vector>

#include "results/sweep_results.hpp"

namespace tutti::tools {

/// Measurements that may be compared with each other have the same key: only backend or file differ.
struct CellKey {
  SweepCell cell;
  DataType type = DataType::float32;
  int ranks = 1;

  friend bool operator==(const CellKey&, const CellKey&) = default;
  /// By operation, type, ranks, place, and size last, so that the sizes of a table follow each other.
  friend std::strong_ordering operator<=>(const CellKey& left, const CellKey& right) noexcept;
};

[[nodiscard]] CellKey key_of(const SweepRow& row) noexcept;

/// "allreduce, float32, 4 ranks", with ", in place" for such cells: the key without its size.
[[nodiscard]] std::string group_text(const CellKey& key);

/// The rows of each cell in the order of the file. Of two rows of one backend the later one counts: a resumed sweep
/// measured it again. The pointers refer to `results`.
using RowsByCell = std::map<CellKey, std::vector<const SweepRow*>>;
[[nodiscard]] RowsByCell rows_by_cell(const SweepResults& results);
RowsByCell rows_by_cell(SweepResults&&) = delete;

/// The row of a backend, or null.
[[nodiscard]] const SweepRow* row_of(const std::vector<const SweepRow*>& rows, const std::string& backend) noexcept;

}  // namespace tutti::tools
