#include "tuning/close_cells.hpp"

#include <algorithm>
#include <iterator>

#include "analysis/cell_key.hpp"
#include "analysis/statistics.hpp"

namespace tutti::tools {
namespace {

/// A backend that takes longer by this factor is not the fastest, whatever the noise.
constexpr double kClose = 1.1;

bool is_close(const SweepRow& best, const SweepRow& other) {
  return other.time_us_p50 <= best.time_us_p50 * kClose &&
         median_interval(best.run_medians_us).high >= median_interval(other.run_medians_us).low;
}

}  // namespace

std::map<std::string, std::vector<SweepCell>> close_cells(const SweepResults& results) {
  std::map<std::string, std::vector<SweepCell>> close;
  for (const auto& [key, rows] : rows_by_cell(results)) {
    std::vector<const SweepRow*> measured;
    std::ranges::copy_if(rows, std::back_inserter(measured),
                         [](const SweepRow* row) { return row->ok() && row->run_medians_us.size() > 1; });
    if (measured.empty()) continue;
    const SweepRow* best = *std::ranges::min_element(measured, {}, &SweepRow::time_us_p50);
    const auto last = std::ranges::remove_if(measured, [&](const SweepRow* row) { return !is_close(*best, *row); });
    measured.erase(last.begin(), last.end());
    if (measured.size() < 2) continue;
    for (const SweepRow* row : measured) close[row->backend].push_back(key.cell);
  }
  return close;
}

}  // namespace tutti::tools
