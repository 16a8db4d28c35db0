#include "analysis/scaling.hpp"

#include <algorithm>

#include "analysis/statistics.hpp"

namespace tutti::tools {
namespace {

/// Only the root has the blocks of all ranks.
bool is_spread_over_ranks(OpKind op) {
  const OpTraits& row = traits(op);
  return (row.input_root_only && row.input != Extent::block) || (row.output_root_only && row.output != Extent::block);
}

ScalingPoint point_of(const SweepResults& results, const SweepRow& row) {
  ScalingPoint point{.row = &row};
  const auto ranks = static_cast<std::uint64_t>(row.ranks);
  const auto setup = std::ranges::find(results.backends, row.backend, &BackendSetup::backend);
  if (setup != results.backends.end()) point.hosts = std::clamp<std::uint64_t>(setup->hostnames, 1, ranks);
  point.ranks_per_host = (ranks + point.hosts - 1) / point.hosts;
  point.bytes_per_rank = is_spread_over_ranks(row.cell.op) ? row.bytes / ranks : row.bytes;
  point.throughput_gbs = static_cast<double>(point.bytes_per_rank * ranks) / (row.time_us_p50 * 1e3);
  if (!row.run_steps_us.empty() && !row.run_computes_us.empty())
    point.steps = {.step_us = median(row.run_steps_us), .compute_us = median(row.run_computes_us)};
  return point;
}

void relate_steps(ScalingPoint& point, const ScalingPoint& first) {
  if (!first.steps || first.steps->step_us <= 0 || first.steps->compute_us <= 0) point.steps.reset();
  if (!point.steps || point.steps->step_us <= 0 || point.steps->compute_us <= 0) return point.steps.reset();
  const double growth = static_cast<double>(point.row->ranks) / first.row->ranks;
  point.steps->efficiency = first.steps->step_us / point.steps->step_us;
  point.steps->alone_efficiency = first.steps->compute_us / point.steps->compute_us;
  point.steps->speedup = point.steps->efficiency * growth;
  point.steps->alone_speedup = point.steps->alone_efficiency * growth;
}

void relate_to_first(std::vector<ScalingPoint>& points) {
  const ScalingPoint first = points.front();
  for (ScalingPoint& point : points) {
    point.speedup = point.throughput_gbs / first.throughput_gbs;
    point.efficiency = point.speedup * first.row->ranks / point.row->ranks;
    relate_steps(point, first);
  }
}

}  // namespace

std::vector<Scaling> find_scaling(const SweepResults& results) {
  std::vector<Scaling> scalings;
  for (const auto& [key, rows] : rows_by_cell(results)) {
    for (const SweepRow* row : rows) {
      if (!row->ok() || row->bytes == 0) continue;
      CellKey base = key;
      const auto same = [&](const Scaling& scaling) {
        base.ranks = scaling.key.ranks;
        return scaling.key == base && scaling.points.front().row->backend == row->backend;
      };
      const auto found = std::ranges::find_if(scalings, same);
      if (found == scalings.end()) {
        scalings.push_back({.key = key, .points = {point_of(results, *row)}});
      } else {
        found->points.push_back(point_of(results, *row));
      }
    }
  }
  std::erase_if(scalings, [](const Scaling& scaling) { return scaling.points.size() < 2; });
  for (Scaling& scaling : scalings) relate_to_first(scaling.points);
  return scalings;
}

}  // namespace tutti::tools
