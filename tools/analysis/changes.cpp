#include "analysis/changes.hpp"

#include <algorithm>
#include <iterator>

#include "analysis/noise.hpp"

namespace tutti::tools {
namespace {

Change compare(const CellKey& key, const SweepRow& before, const SweepRow& after) {
  Change change{.key = key, .before = &before, .after = &after};
  if (before.ok() != after.ok()) change.kind = before.ok() ? ChangeKind::broken : ChangeKind::repaired;
  if (!before.ok() || !after.ok()) return change;
  change.ratio = after.time_us_p50 / before.time_us_p50;
  if (is_beyond_noise(noise_range(before), noise_range(after)))
    change.kind = change.ratio > 1 ? ChangeKind::slower : ChangeKind::faster;
  return change;
}

}  // namespace

std::string_view name(ChangeKind kind) noexcept {
  switch (kind) {
    case ChangeKind::none:
      return "";
    case ChangeKind::faster:
      return "faster";
    case ChangeKind::slower:
      return "SLOWER";
    case ChangeKind::broken:
      return "BROKEN";
    case ChangeKind::repaired:
      return "repaired";
  }
  return "";
}

std::vector<Change> compare_results(const SweepResults& before, const SweepResults& after) {
  std::vector<Change> changes;
  const RowsByCell cells_after = rows_by_cell(after);
  for (const auto& [key, rows] : rows_by_cell(before)) {
    const auto found = cells_after.find(key);
    if (found == cells_after.end()) continue;
    for (const SweepRow* row : rows) {
      if (const SweepRow* later = row_of(found->second, row->backend)) changes.push_back(compare(key, *row, *later));
    }
  }
  return changes;
}

std::vector<Change> find_regressions(const std::vector<Change>& changes, double share) {
  std::vector<Change> regressions;
  std::ranges::copy_if(changes, std::back_inserter(regressions), [share](const Change& change) {
    return change.kind == ChangeKind::broken || (change.kind == ChangeKind::slower && change.ratio > 1 + share);
  });
  return regressions;
}

}  // namespace tutti::tools
