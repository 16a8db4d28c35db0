#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/cell_key.hpp"

namespace tutti::tools {

/// Steps of a program, of a computation and the operation, at one number of ranks. Each rank's computation is the same
/// work whatever their number.
struct ScalingSteps {
  double step_us = 0;        ///< with communication
  double compute_us = 0;     ///< without: the computation alone
  double speedup = 0;        ///< steps of all ranks per time, against the fewest ranks
  double efficiency = 0;     ///< speed-up divided by the growth of the number of ranks
  double alone_speedup = 0;  ///< the same without communication
  double alone_efficiency = 0;

  /// Steps of all ranks together per second, where one takes `us`.
  [[nodiscard]] static double per_second(double us, int ranks) noexcept { return ranks * 1e6 / us; }
};

/// A backend's cell at one number of ranks.
struct ScalingPoint {
  const SweepRow* row = nullptr;
  std::uint64_t hosts = 1;
  std::uint64_t ranks_per_host = 1;
  std::uint64_t bytes_per_rank = 0;
  double throughput_gbs = 0;               ///< data of all ranks divided by the time, 10^9 bytes per second
  double speedup = 0;                      ///< throughput against that of the fewest ranks
  double efficiency = 0;                   ///< speed-up divided by the growth of the number of ranks
  std::optional<ScalingSteps> steps = {};  ///< nothing without --compute, here or at the fewest ranks
};

/// Cells of a backend that differ in the number of ranks only. The pointers refer to the results.
struct Scaling {
  CellKey key;                       ///< with the fewest ranks
  std::vector<ScalingPoint> points;  ///< by ranks, at least two
};

/// In the order of keys and of the backends in the file. A rank's data is the message size; for gather and scatter,
/// whose root has the blocks of all ranks, it is one block.
[[nodiscard]] std::vector<Scaling> find_scaling(const SweepResults& results);
std::vector<Scaling> find_scaling(SweepResults&&) = delete;

}  // namespace tutti::tools
