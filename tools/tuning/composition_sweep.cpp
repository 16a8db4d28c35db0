#include "tuning/composition_sweep.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>

#include "analysis/statistics.hpp"
#include "text/progress.hpp"
#include "text/text.hpp"
#include "tuning/tuning_jobs.hpp"
#include "tutti/error.hpp"
#include "tutti/info.hpp"
#include "tutti/spi/file_descriptor.hpp"

namespace tutti::tools {
namespace {

/// Of the promising compositions of each cell and backend, the one whose parts take least.
std::map<std::string, std::vector<ComposedCell>> best_by_backend(const SweepResults& results) {
  std::map<std::string, std::vector<ComposedCell>> best;
  for (const ComposedCell& one : promising_compositions(results)) {
    std::vector<ComposedCell>& cells = best[one.backend];
    const auto same = std::ranges::find(cells, one.cell, &ComposedCell::cell);
    if (same == cells.end()) {
      cells.push_back(one);
    } else if (one.time_us < same->time_us) {
      *same = one;
    }
  }
  return best;
}

/// A tuning file of a backend's compositions, without a name in any folder, for the processes of this user.
class UnnamedTuning {
 public:
  UnnamedTuning(const SweepResults& results, const std::vector<ComposedCell>& cells)
      : file_(memfd_create("tutti-tuning", MFD_CLOEXEC)) {
    TuningTable table{.tutti = std::string(version()),
                      .machine = this_tuning_machine(),
                      .host = results.head.hostname,
                      .device = {},
                      .libraries = {},
                      .rows = {}};
    for (const ComposedCell& cell : cells) {
      table.rows.push_back({.op = cell.cell.op,
                            .on_device = results.device != "host",
                            .types = type_class(cell.cell.op, results.type),
                            .ranks_from = results.ranks,
                            .ranks_to = results.ranks,
                            .from = cell.bytes,
                            .to = cell.bytes + 1,
                            .backends = {{.spec = cell.backend, .times = {}, .composition = cell.composition}}});
    }
    const std::string text = to_text(table);
    if (!file_ || write(file_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      throw Error(ErrorCode::system, "a table for the measurement of compositions cannot be written to memory");
  }
  [[nodiscard]] std::string path() const { return concat("/proc/", getpid(), "/fd/", file_.get()); }

 private:
  spi::FileDescriptor file_;
};

/// Adds the time of one run to the cell that it belongs to; a cell that failed once gets no time.
void take(const SweepRow& row, std::vector<ComposedCell>& cells, std::vector<SweepCell>& failed) {
  const auto cell = std::ranges::find(cells, row.cell, &ComposedCell::cell);
  if (cell == cells.end()) return;
  if (row.ok() && row.time_us_p50 > 0) {
    cell->run_medians_us.push_back(row.time_us_p50);
  } else {
    failed.push_back(row.cell);
  }
}

}  // namespace

std::optional<std::vector<ComposedCell>> measure_compositions(const TuningSweepOptions& options,
                                                              const SweepResults& results) {
  std::vector<ComposedCell> measured;
  auto promising = best_by_backend(results);
  if (promising.empty()) return measured;
  std::size_t total = 0;
  for (const auto& [backend, cells] : promising) total += cells.size();
  Progress progress("tune", static_cast<double>(total) * options.runs, options.quiet);
  TuningJobs jobs;
  std::vector<SweepCell> failed;
  for (int run = 0; run < options.runs; ++run) {
    for (auto& [backend, composed] : promising) {
      const UnnamedTuning table(results, composed);
      LaunchTarget target = find_launch_target(backend);
      target.spec = "auto";
      SweepSettings settings = settings_of(options);
      settings.environment = {{"TUTTI_TUNING", table.path()}, {"TUTTI_PIN", ""}};
      std::vector<SweepCell> cells;
      for (const ComposedCell& one : composed) cells.push_back(one.cell);
      const auto begun = [&, &of = backend](const SweepCell& cell) {
        progress.show(concat("run ", run + 1, " ", of, " ", name(cell.op), " composed ", format_bytes(cell.bytes)));
      };
      const auto done = [&, &to = composed](const SweepRow& row) {
        progress.advance(1);
        take(row, to, failed);
      };
      if (!jobs.run(target, settings, {.begun = begun, .done = done}, std::move(cells))) return std::nullopt;
    }
  }
  for (auto& [backend, composed] : promising) {
    for (ComposedCell& one : composed) {
      if (one.run_medians_us.empty() || std::ranges::find(failed, one.cell) != failed.end()) continue;
      one.time_us = percentile(one.run_medians_us, 0.5);
      measured.push_back(std::move(one));
    }
  }
  return measured;
}

}  // namespace tutti::tools
