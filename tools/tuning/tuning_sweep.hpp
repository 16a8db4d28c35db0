#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/launch_target.hpp"
#include "results/sweep_results.hpp"
#include "sweep/plan/sizes.hpp"
#include "sweep/sweep_runner.hpp"

namespace tutti::tools {

/// Cells that `tutti tune` measures.
struct TuningSweepOptions {
  /// With the parts of all compositions.
  std::vector<OpKind> ops = {OpKind::allreduce, OpKind::allgather, OpKind::reduce_scatter, OpKind::broadcast,
                             OpKind::reduce,    OpKind::gather,    OpKind::alltoall};
  std::vector<std::string> backends = {};                     ///< empty: all that are usable and stand on no other one
  std::vector<std::uint64_t> sizes = parse_sizes("1K..64M");  ///< with their halves: see Composition::halves
  int ranks = std::clamp(this_host().cores, 2, 4);
  int runs = 3;
  DataType type = DataType::float32;
  std::string device = "host";
  double seconds_per_cell = 0.1;
  bool quiet = false;
};

/// How a job of the measurement is run.
[[nodiscard]] SweepSettings settings_of(const TuningSweepOptions& options);

/// Measures every backend in turns, once per run, so that a slow phase of the machine does not hit one of them alone.
/// Cells in which backends are close (close_cells()) get up to twice as many further runs.
/// Nothing if the user interrupted it. Throws Error{backend_unavailable} if no backend can be measured.
[[nodiscard]] std::optional<SweepResults> measure_for_tuning(const TuningSweepOptions& options);

}  // namespace tutti::tools
