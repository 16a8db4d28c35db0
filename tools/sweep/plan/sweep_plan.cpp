#include "sweep/plan/sweep_plan.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "text/text.hpp"
#include "usage_error.hpp"

namespace tutti::tools {
namespace {

constexpr double kBudgetSeconds = 200;  // leaves room in 4 minutes for slow backends
constexpr double kStartSeconds = 2;     // of a job

/// All ranks together. Twice with a device: its memory may be host memory, and the buffers are filled and checked on
/// the host.
std::uint64_t needed_bytes(const CellShape& shape, const SweepSettings& settings) {
  return (settings.device == "host" ? 1 : 2) * static_cast<std::uint64_t>(settings.concurrent) * shape.memory_bytes();
}

/// Runs that the cell has in the rows; 0 for a cell that failed.
int runs_of(const std::vector<SweepRow>& rows, const std::string& backend, int ranks, const SweepCell& cell) {
  for (const SweepRow& row : rows) {
    if (row.cell == cell && row.ranks == ranks && row.backend == backend && row.ok())
      return std::max(static_cast<int>(row.run_medians_us.size()), 1);
  }
  return 0;
}

/// The cells of one number of ranks.
class CellList {
 public:
  CellList(const SweepOptions& options, const PlanHost& host, int ranks) : options_(options), ranks_(ranks) {
    for (const OpKind op : options.ops) {
      for (const bool in_place : options.in_place) {
        if (in_place && !allows_in_place(op)) continue;
        for (SweepCell cell : distinct_cells(op, options.sizes, options.settings.type, ranks)) {
          cell.in_place = in_place;
          add(cell, host.available_bytes);
        }
      }
    }
  }

  std::vector<SweepCell> fitting;
  std::vector<UnfittingCell> unfitting;

 private:
  void add(const SweepCell& cell, std::uint64_t available_bytes) {
    const CellShape shape(cell, options_.settings.type, ranks_);
    const std::uint64_t needed = needed_bytes(shape, options_.settings);
    if (needed <= available_bytes)
      fitting.push_back(cell);
    else
      unfitting.push_back({cell, ranks_, shape.message_bytes(), needed});
  }

  const SweepOptions& options_;
  int ranks_;
};

void remark_sizes(const SweepOptions& options, std::vector<std::string>& remarks) {
  const std::size_t width = size_of(options.settings.type);
  std::vector<std::string> odd;
  for (const std::uint64_t size : options.sizes) {
    if (size % width == 0) continue;
    const std::uint64_t measured = std::max<std::uint64_t>(size / width * width, width);
    odd.push_back(concat(format_bytes(measured), " instead of ", format_bytes(size)));
  }
  if (odd.empty()) return;
  remarks.push_back(concat(name(options.settings.type), " has ", width,
                           " bytes, and sizes are whole elements: measured are ", join(odd, ", ")));
}

void remark_memory(const std::vector<UnfittingCell>& cells, const PlanHost& host, std::vector<std::string>& remarks) {
  if (cells.empty()) return;
  const UnfittingCell& least =
      *std::ranges::min_element(cells, {}, [](const UnfittingCell& cell) { return cell.needed_bytes; });
  remarks.push_back(concat(cells.size(), cells.size() == 1 ? " cell does" : " cells do",
                           " not fit in memory and will be left out; the smallest, ", name(least.cell.op), " of ",
                           format_bytes_rounded(least.message_bytes), " on ", least.ranks,
                           least.ranks == 1 ? " rank" : " ranks", ", needs ", format_bytes_rounded(least.needed_bytes),
                           ", ", format_bytes_rounded(host.available_bytes), " are available"));
}

void remark_in_place(const SweepOptions& options, std::vector<std::string>& remarks) {
  if (std::ranges::find(options.in_place, true) == options.in_place.end()) return;
  std::vector<std::string> names;
  for (const OpKind op : options.ops) {
    if (!allows_in_place(op)) names.emplace_back(name(op));
  }
  if (names.empty()) return;
  const bool is_all = names.size() == options.ops.size();
  if (is_all && std::ranges::find(options.in_place, false) == options.in_place.end())
    throw UsageError(concat("--in-place yes: ", join(names, ", "), " cannot work in place; use --in-place no"));
  remarks.push_back(concat(join(names, ", "), " cannot work in place and will be measured with separate buffers only"));
}

void remark_cores(const SweepOptions& options, const PlanHost& host, std::vector<std::string>& remarks) {
  const int most = std::ranges::max(options.ranks);
  if (most <= host.cores) return;
  remarks.push_back(concat(most, " ranks share ", host.cores, host.cores == 1 ? " core" : " cores",
                           ": they take turns, and times are longer and vary more than with a core for each"));
}

/// The time for timed calls, from one run of all cells on all backends.
double choose_seconds(const SweepOptions& options, const std::vector<CellList>& lists, std::size_t backends) {
  if (options.seconds_per_cell) return *options.seconds_per_cell;
  std::size_t cells = 0;
  double other = 0;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    cells += backends * lists[i].fitting.size();
    double seconds = kStartSeconds;
    for (const SweepCell& cell : lists[i].fitting) seconds += expected_seconds(cell, options.ranks[i], 0);
    other += static_cast<double>(backends) * seconds;
  }
  return default_seconds_per_cell(cells, other);
}

}  // namespace

std::size_t SweepPlan::cells() const noexcept {
  std::size_t count = 0;
  for (const SweepJob& job : jobs) count += job.cells.size();
  return count;
}

SweepPlan make_plan(const SweepOptions& options, const std::vector<std::string>& backends, const PlanHost& host,
                    const std::vector<SweepRow>& earlier) {
  SweepPlan plan;
  std::vector<CellList> lists;
  for (const int ranks : options.ranks) {
    lists.emplace_back(options, host, ranks);
    plan.unfitting.insert(plan.unfitting.end(), lists.back().unfitting.begin(), lists.back().unfitting.end());
  }
  plan.seconds_per_cell = choose_seconds(options, lists, backends.size());
  remark_sizes(options, plan.remarks);
  remark_in_place(options, plan.remarks);
  remark_memory(plan.unfitting, host, plan.remarks);
  remark_cores(options, host, plan.remarks);
  std::uint64_t number = 0;
  for (int run = 0; run < options.runs; ++run) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      for (const std::string& backend : backends) {
        SweepJob job{.backend = backend, .ranks = options.ranks[i], .run = run};
        job.counted = options.settings.counted && run == 0;
        for (const SweepCell& cell : lists[i].fitting) {
          if (runs_of(earlier, backend, job.ranks, cell) <= run) job.cells.push_back(cell);
        }
        if (options.seed) shuffle(job.cells, *options.seed, number);
        ++number;
        if (!job.cells.empty()) plan.jobs.push_back(std::move(job));
      }
    }
  }
  return plan;
}

double expected_seconds(const SweepCell& cell, int ranks, double seconds_per_cell) noexcept {
  return seconds_per_cell + 0.02 + 5e-9 * static_cast<double>(cell.bytes) * ranks;
}

double default_seconds_per_cell(std::size_t cells, double other_seconds) noexcept {
  return std::clamp((kBudgetSeconds - other_seconds) / static_cast<double>(std::max<std::size_t>(cells, 1)), 0.1, 1.0);
}

void shuffle(std::vector<SweepCell>& cells, std::uint64_t seed, std::uint64_t job) {
  // The generator's numbers are the same everywhere, those of std::shuffle and of the distributions are not.
  std::mt19937_64 generator(seed * 0x9E3779B97F4A7C15ULL + job);
  for (std::size_t left = cells.size(); left > 1; --left) std::swap(cells[left - 1], cells[generator() % left]);
}

}  // namespace tutti::tools
