#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/sweep_results.hpp"
#include "sweep/plan/sweep_options.hpp"

namespace tutti::tools {

/// Cells that the same ranks of a backend measure one after the other.
struct SweepJob {
  std::string backend = {};
  int ranks = 1;
  int run = 0;          ///< counts from 0
  bool counted = true;  ///< counted calls follow the timed ones
  std::vector<SweepCell> cells = {};
};

/// A cell that needs more memory than there is.
struct UnfittingCell {
  SweepCell cell;
  int ranks = 1;
  std::uint64_t message_bytes = 0;
  std::uint64_t needed_bytes = 0;  ///< by all ranks together
};

/// The facts about the host that the plan depends on.
struct PlanHost {
  std::uint64_t available_bytes = 0;
  int cores = 1;
};

/// The jobs of a sweep in their order: run by run, in each run the numbers of ranks, for each of them all backends. So
/// a slow phase of the machine meets all backends.
struct SweepPlan {
  std::vector<SweepJob> jobs;
  std::vector<UnfittingCell> unfitting;  ///< of each number of ranks, for every backend
  std::vector<std::string> remarks;      ///< about sizes, memory, cores and operations, to show before the start
  double seconds_per_cell = 1;

  [[nodiscard]] std::size_t cells() const noexcept;
};

/// `earlier`: rows whose cells need no further run, or only the runs that they do not have yet. Throws UsageError when
/// the options leave nothing to measure at all.
[[nodiscard]] SweepPlan make_plan(const SweepOptions& options, const std::vector<std::string>& backends,
                                  const PlanHost& host, const std::vector<SweepRow>& earlier = {});

/// Seconds that a cell takes, starting the job aside, before anything is measured: the time for its timed calls, and
/// time per byte for filling, checking, warming up and the least number of calls.
[[nodiscard]] double expected_seconds(const SweepCell& cell, int ranks, double seconds_per_cell) noexcept;

/// Time for the timed calls of a cell with which `cells` that take `other_seconds` besides end within about 4 minutes:
/// 0.1 s to 1 s.
[[nodiscard]] double default_seconds_per_cell(std::size_t cells, double other_seconds) noexcept;

/// The cells in an order that depends on the numbers alone, on every machine.
void shuffle(std::vector<SweepCell>& cells, std::uint64_t seed, std::uint64_t job);

}  // namespace tutti::tools
