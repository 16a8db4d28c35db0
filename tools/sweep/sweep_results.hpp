#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sweep/sweep_cell.hpp"
#include "text/terminal.hpp"

namespace tutti::tools {

/// What a rank's device did for one call: copies, kernels and the library's own work on it, as the observer was told.
struct DeviceUse {
  std::uint64_t calls = 0;
  double time_us = 0;    ///< in which any of them was under way
  bool is_span = false;  ///< of a library's operation in the queue, with its waiting for other ranks
};

/// What came of one cell on one backend.
struct SweepRow {
  SweepCell cell;
  std::string backend;
  std::uint64_t bytes = 0;    ///< as nccl-tests counts
  std::string status = "ok";  ///< or what happened, one line
  double time_us_p50 = 0;
  double time_us_min = 0;
  double time_us_p99 = 0;
  double algbw_gbs = 0;
  double busbw_gbs = 0;
  DeviceUse device = {};                       ///< of the rank whose device took longest; nothing on the host
  double observed_time_us = 0;                 ///< of the calls that `device` is about: being watched, they take longer
  std::vector<std::string> rank_devices = {};  ///< by rank; empty when the ranks did not get so far
  std::string note = {};

  [[nodiscard]] bool ok() const noexcept { return status == "ok"; }
};

/// A backend that was asked for and cannot be measured here.
struct UnusableBackend {
  std::string name;
  std::string reason;
};

/// A sweep so far.
struct SweepResults {
  std::string machine;  ///< one line: CPU, cores
  std::string device = "host";
  DataType type = DataType::float32;
  int ranks = 1;
  std::vector<OpKind> ops;
  std::vector<std::uint64_t> sizes;
  std::vector<std::string> backends;
  std::vector<UnusableBackend> unusable;
  std::vector<SweepRow> rows;
};

/// A good row from the times of all iterations, each that of its slowest rank.
[[nodiscard]] SweepRow make_row(const SweepCell& cell, const std::string& backend, const CellShape& shape,
                                std::span<const double> times_us);

/// Status when memory is short.
inline constexpr std::string_view kDoesNotFit = "does not fit";

/// One table per operation: a line per size, a group of columns per backend.
[[nodiscard]] std::string to_table(const SweepResults& results, const Terminal& terminal);
/// {"rows": [...]}
[[nodiscard]] std::string to_json(const SweepResults& results);
/// The same columns as the keys of the JSON rows.
[[nodiscard]] std::string to_csv(const SweepResults& results);

}  // namespace tutti::tools
