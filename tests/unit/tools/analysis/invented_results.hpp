#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "results/sweep_results.hpp"

/// Rows of sweeps that nobody measured.
namespace tutti::tools::test {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// A row whose calls took between 99 % and 102 % of `time_us`.
inline SweepRow row(std::string backend, double time_us, std::uint64_t bytes = kMiB, OpKind op = OpKind::allreduce) {
  SweepRow row{.cell = {.op = op, .bytes = bytes}, .backend = std::move(backend), .ranks = 4, .bytes = bytes};
  row.time_us_p50 = time_us;
  row.time_us_min = time_us * 0.99;
  row.time_us_p99 = time_us * 1.02;
  row.algbw_gbs = static_cast<double>(bytes) / (time_us * 1e3);
  row.busbw_gbs = row.algbw_gbs;
  return row;
}

inline SweepRow failed_row(std::string backend, std::string status, std::uint64_t bytes = kMiB,
                           OpKind op = OpKind::allreduce) {
  return {.cell = {.op = op, .bytes = bytes},
          .backend = std::move(backend),
          .ranks = 4,
          .bytes = bytes,
          .status = std::move(status)};
}

inline SweepRow with_runs(SweepRow row, std::vector<double> medians) {
  row.run_medians_us = std::move(medians);
  return row;
}

/// Results that hold the rows, with the sizes and backends that occur in them.
SweepResults results_of(std::vector<SweepRow> rows);

}  // namespace tutti::tools::test
