#include "tuning/tuning_sweep.hpp"

#include <unistd.h>

#include <array>
#include <ctime>
#include <map>

#include "analysis/statistics.hpp"
#include "machine.hpp"
#include "text/progress.hpp"
#include "text/text.hpp"
#include "tuning/close_cells.hpp"
#include "tuning/tuning_jobs.hpp"
#include "tutti/error.hpp"
#include "tutti/info.hpp"
#include "tutti/tuning.hpp"

namespace tutti::tools {
namespace {

/// Runs of cells in which backends are close, as a multiple of the runs of all cells.
constexpr int kMostRounds = 3;

using CellsByBackend = std::map<std::string, std::vector<SweepCell>>;

std::vector<LaunchTarget> targets_of(const TuningSweepOptions& options, SweepResults& results) {
  std::vector<LaunchTarget> candidates;
  if (options.backends.empty()) {
    candidates = launch_targets();
    std::erase_if(candidates, [](const LaunchTarget& target) { return target.is_open() || !target.usable; });
  }
  for (const std::string& backend : options.backends) candidates.push_back(find_launch_target(backend));
  std::string reasons;
  std::vector<LaunchTarget> usable;
  for (LaunchTarget& target : candidates) {
    if (std::ranges::find(usable, target.spec, &LaunchTarget::spec) != usable.end()) continue;
    if (!target.usable) {
      reasons += concat("\n  ", target.spec, ": ", target.reason);
      continue;
    }
    results.backends.push_back({.backend = target.spec, .version = target.version});
    usable.push_back(std::move(target));
  }
  if (usable.empty()) throw Error(ErrorCode::backend_unavailable, "no backend can be measured:" + reasons);
  return usable;
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

SweepHead head_of_this_machine() {
  const TuningMachine machine = this_tuning_machine();
  std::array<char, 256> host{};
  (void)gethostname(host.data(), host.size() - 1);
  return {.tutti = std::string(version()),
          .begun = now_text(),
          .hostname = host.data(),
          .cpu = machine.cpu,
          .cores = machine.cores,
          .kernels = {}};
}

/// The cells whose buffers fit in memory.
std::vector<SweepCell> cells_of(const TuningSweepOptions& options) {
  const std::uint64_t available = this_machine().available_bytes;
  const std::uint64_t copies = options.device == "host" ? 1 : 2;
  std::vector<SweepCell> cells;
  for (const OpKind op : options.ops) {
    for (const SweepCell& cell : distinct_cells(op, options.sizes, options.type, options.ranks)) {
      if (copies * CellShape(cell, options.type, options.ranks).memory_bytes() <= available) cells.push_back(cell);
    }
  }
  return cells;
}

/// Adds the row of one run to that of the runs before.
void merge(SweepRow row, std::vector<SweepRow>& rows) {
  const auto same = std::ranges::find_if(
      rows, [&](const SweepRow& one) { return one.cell == row.cell && one.backend == row.backend; });
  if (same == rows.end()) {
    if (row.ok()) row.run_medians_us = {row.time_us_p50};
    rows.push_back(std::move(row));
    return;
  }
  if (!same->ok()) return;
  if (!row.ok()) {
    *same = std::move(row);  // a backend that fails sometimes is no choice
    return;
  }
  same->run_medians_us.push_back(row.time_us_p50);
  same->time_us_p50 = percentile(same->run_medians_us, 0.5);
  same->time_us_min = std::min(same->time_us_min, row.time_us_min);
}

std::size_t count(const CellsByBackend& cells) {
  std::size_t sum = 0;
  for (const auto& [backend, own] : cells) sum += own.size();
  return sum;
}

/// One run of some cells on a backend; the rows join those of the runs before. False if the user interrupted it.
bool visit_backend(TuningJobs& jobs, const LaunchTarget& target, const TuningSweepOptions& options,
                   const std::vector<SweepCell>& cells, int run, Progress& progress, std::vector<SweepRow>& rows) {
  const auto begun = [&](const SweepCell& cell) {
    progress.show(concat("run ", run + 1, " ", target.spec, " ", name(cell.op), " ", format_bytes(cell.bytes)));
  };
  const auto done = [&](SweepRow row) {
    progress.advance(1);
    row.ranks = options.ranks;
    row.type = options.type;
    merge(std::move(row), rows);
  };
  return jobs.run(target, settings_of(options), {.begun = begun, .done = done}, cells);
}

}  // namespace

SweepSettings settings_of(const TuningSweepOptions& options) {
  SweepSettings settings;
  settings.ranks = options.ranks;
  settings.type = options.type;
  settings.seconds_per_cell = options.seconds_per_cell;
  settings.device = options.device;
  settings.counted = false;
  return settings;
}

std::optional<SweepResults> measure_for_tuning(const TuningSweepOptions& options) {
  SweepResults results;
  results.head = head_of_this_machine();
  results.device = options.device;
  results.type = options.type;
  results.ranks = options.ranks;
  results.ops = options.ops;
  results.sizes = options.sizes;
  const std::vector<LaunchTarget> targets = targets_of(options, results);
  CellsByBackend all;
  for (const LaunchTarget& target : targets) all[target.spec] = cells_of(options);
  TuningJobs jobs;
  const auto visit = [&](const CellsByBackend& cells, int first, int last) {
    Progress progress("tune", static_cast<double>(count(cells)) * (last - first), options.quiet);
    for (int run = first; run < last; ++run) {
      for (const LaunchTarget& target : targets) {
        const auto own = cells.find(target.spec);
        if (own != cells.end() && !visit_backend(jobs, target, options, own->second, run, progress, results.rows))
          return false;
      }
    }
    return true;
  };
  if (!visit(all, 0, options.runs)) return std::nullopt;
  for (int run = options.runs; run < options.runs * kMostRounds; ++run) {
    const CellsByBackend close = close_cells(results);
    if (close.empty()) break;
    if (!visit(close, run, run + 1)) return std::nullopt;
  }
  return results;
}

}  // namespace tutti::tools
