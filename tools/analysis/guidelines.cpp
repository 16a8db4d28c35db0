#include "analysis/guidelines.hpp"

#include <algorithm>
#include <array>

#include "analysis/noise.hpp"
#include "text/text.hpp"

namespace tutti::tools {
namespace {

/// The successful row of the cell on a backend, or null.
const SweepRow* find_row(const RowsByCell& cells, const CellKey& key, const std::string& backend) {
  const auto found = cells.find(key);
  if (found == cells.end()) return nullptr;
  const SweepRow* row = row_of(found->second, backend);
  return row != nullptr && row->ok() ? row : nullptr;
}

void add_if_broken(std::vector<BrokenGuideline>& broken, const CellKey& key, const SweepRow& row,
                   Composition composition, const std::array<const SweepRow*, 2>& parts) {
  NoiseRange together;
  double parts_us = 0;
  for (const SweepRow* part : parts) {
    if (part == nullptr) return;
    const NoiseRange range = noise_range(*part);
    together = {.low_us = together.low_us + range.low_us, .high_us = together.high_us + range.high_us};
    parts_us += part->time_us_p50;
  }
  if (together.high_us >= noise_range(row).low_us) return;
  broken.push_back({.key = key,
                    .row = &row,
                    .composition = composition,
                    .parts = {parts.begin(), parts.end()},
                    .parts_us = parts_us,
                    .factor = row.time_us_p50 / parts_us});
}

}  // namespace

std::string BrokenGuideline::way() const {
  if (composition == Composition::halves) return concat("2 x ", format_bytes(parts.front()->bytes));
  return std::string(traits(composition).description);
}

std::vector<BrokenGuideline> find_broken_guidelines(const SweepResults& results) {
  std::vector<BrokenGuideline> broken;
  const RowsByCell cells = rows_by_cell(results);
  for (const auto& [key, rows] : cells) {
    for (const SweepRow* row : rows) {
      if (!row->ok()) continue;
      const auto part = [&](OpKind op, std::uint64_t bytes) {
        CellKey other = key;
        other.cell.op = op;
        other.cell.bytes = bytes;
        return find_row(cells, other, row->backend);
      };
      for (const CompositionTraits& one : kCompositionTraits) {
        if (one.whole != key.cell.op) continue;
        add_if_broken(broken, key, *row, one.composition,
                      {part(one.parts[0], key.cell.bytes), part(one.parts[1], key.cell.bytes)});
      }
      if (key.cell.bytes % 2 != 0) continue;
      const SweepRow* half = part(key.cell.op, key.cell.bytes / 2);
      add_if_broken(broken, key, *row, Composition::halves, {half, half});
    }
  }
  return broken;
}

}  // namespace tutti::tools
