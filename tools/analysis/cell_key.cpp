#include "analysis/cell_key.hpp"

#include <algorithm>
#include <tuple>

#include "text/text.hpp"

namespace tutti::tools {

std::strong_ordering operator<=>(const CellKey& left, const CellKey& right) noexcept {
  const auto order = [](const CellKey& key) {
    return std::tuple(key.cell.op, key.type, key.ranks, key.cell.in_place, key.cell.bytes);
  };
  return order(left) <=> order(right);
}

CellKey key_of(const SweepRow& row) noexcept { return {.cell = row.cell, .type = row.type, .ranks = row.ranks}; }

std::string group_text(const CellKey& key) {
  return concat(name(key.cell.op), ", ", name(key.type), ", ", key.ranks, key.ranks == 1 ? " rank" : " ranks",
                key.cell.in_place ? ", in place" : "");
}

RowsByCell rows_by_cell(const SweepResults& results) {
  RowsByCell cells;
  for (const SweepRow& row : results.rows) {
    std::vector<const SweepRow*>& rows = cells[key_of(row)];
    const auto earlier =
        std::ranges::find_if(rows, [&](const SweepRow* other) { return other->backend == row.backend; });
    if (earlier == rows.end()) {
      rows.push_back(&row);
    } else {
      *earlier = &row;
    }
  }
  return cells;
}

const SweepRow* row_of(const std::vector<const SweepRow*>& rows, const std::string& backend) noexcept {
  const auto found = std::ranges::find_if(rows, [&](const SweepRow* row) { return row->backend == backend; });
  return found == rows.end() ? nullptr : *found;
}

}  // namespace tutti::tools
