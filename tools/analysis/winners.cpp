#include "analysis/winners.hpp"

#include <algorithm>

#include "analysis/noise.hpp"

namespace tutti::tools {

std::vector<Winner> find_winners(const SweepResults& results) {
  std::vector<Winner> winners;
  for (const auto& [key, all] : rows_by_cell(results)) {
    std::vector<const SweepRow*> rows = all;
    std::erase_if(rows, [](const SweepRow* row) { return !row->ok(); });
    if (rows.size() < 2) continue;
    std::ranges::stable_sort(rows, {}, [](const SweepRow* row) { return row->time_us_p50; });
    winners.push_back({.key = key,
                       .best = rows[0],
                       .second = rows[1],
                       .margin = rows[1]->time_us_p50 / rows[0]->time_us_p50 - 1,
                       .is_beyond_noise = is_beyond_noise(noise_range(*rows[0]), noise_range(*rows[1]))});
  }
  return winners;
}

}  // namespace tutti::tools
