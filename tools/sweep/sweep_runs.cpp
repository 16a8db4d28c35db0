#include "sweep/sweep_runs.hpp"

#include <algorithm>
#include <tuple>

#include "analysis/statistics.hpp"
#include "text/text.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::tools {
namespace {

void add_note(SweepRow& row, const std::string& note) {
  if (note.empty() || row.note.find(note) != std::string::npos) return;
  row.note += concat(row.note.empty() ? "" : "; ", note);
}

void add_times(SweepRow& row, const SweepRow& run) {
  row.run_medians_us.push_back(run.time_us_p50);
  row.run_steps_us.insert(row.run_steps_us.end(), run.run_steps_us.begin(), run.run_steps_us.end());
  row.run_computes_us.insert(row.run_computes_us.end(), run.run_computes_us.begin(), run.run_computes_us.end());
  row.time_us_p50 = median(row.run_medians_us);
  row.time_us_min = std::min(row.time_us_min, run.time_us_min);
  row.time_us_p99 = std::max(row.time_us_p99, run.time_us_p99);
  row.algbw_gbs = static_cast<double>(row.bytes) / (row.time_us_p50 * 1e3);
  row.busbw_gbs = row.algbw_gbs * bus_bandwidth_factor(row.cell.op, row.ranks);
}

template <typename List, typename Value>
std::size_t place_in(const List& list, const Value& value) {
  return static_cast<std::size_t>(std::ranges::find(list, value) - list.begin());
}

}  // namespace

void add_run(std::vector<SweepRow>& rows, SweepRow row) {
  const auto known = std::ranges::find_if(rows, [&](const SweepRow& other) {
    return other.cell == row.cell && other.ranks == row.ranks && other.backend == row.backend;
  });
  if (known == rows.end()) {
    if (row.ok()) row.run_medians_us = {row.time_us_p50};
    rows.push_back(std::move(row));
    return;
  }
  // A file of the first version has no medians of runs.
  if (known->ok() && known->run_medians_us.empty()) known->run_medians_us = {known->time_us_p50};
  if (known->ok() && row.ok()) add_times(*known, row);
  if (known->ok() && !row.ok())
    known->status = concat(row.status, ", in run ", known->run_medians_us.size() + 1, " after good ones");
  if (!known->counts) known->counts = row.counts;
  if (known->rank_devices.empty()) known->rank_devices = row.rank_devices;
  add_note(*known, row.note);
}

void sort_rows(SweepResults& results) {
  const auto place = [&](const SweepRow& row) {
    const auto backend = std::ranges::find(results.backends, row.backend, &BackendSetup::backend);
    return std::tuple(backend - results.backends.begin(), place_in(results.ops, row.cell.op), row.ranks,
                      row.cell.in_place, row.bytes);
  };
  std::ranges::stable_sort(results.rows, [&](const SweepRow& a, const SweepRow& b) { return place(a) < place(b); });
}

}  // namespace tutti::tools
