#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sweep/sweep_cell.hpp"
#include "text/terminal.hpp"

namespace tutti::tools {

/// Work of a rank's device for one call, as reported to the observer: copies, kernels and operations of a library.
struct DeviceUse {
  std::uint64_t calls = 0;
  double time_us = 0;    ///< time during which any of them was running
  bool is_span = false;  ///< includes a library's operation in the queue with its wait for other ranks
};

/// Result of one cell on one backend.
struct SweepRow {
  SweepCell cell;
  std::string backend;
  std::uint64_t bytes = 0;    ///< message size as nccl-tests counts it
  std::string status = "ok";  ///< or the failure in one line
  double time_us_p50 = 0;
  double time_us_min = 0;
  double time_us_p99 = 0;
  double algbw_gbs = 0;
  double busbw_gbs = 0;
  DeviceUse device = {};                       ///< of the rank whose device took longest; nothing on the host
  double observed_time_us = 0;                 ///< of the calls in which `device` was observed, which takes time
  std::vector<std::string> rank_devices = {};  ///< by rank; empty when the ranks failed before they reported it
  std::string note = {};

  [[nodiscard]] bool ok() const noexcept { return status == "ok"; }
};

/// How a backend was started, so that a reader can judge whether it was started well.
struct BackendSetup {
  std::string backend;
  std::string version;                      ///< of the launcher or the library
  std::vector<std::string> launcher = {};   ///< the command that started the ranks; empty: tutti itself
  std::vector<std::string> variables = {};  ///< "NAME=value", for the launcher and the ranks
  std::vector<std::string> settings = {};   ///< "NAME=value", chosen by the module for its library

  /// Adds a setting if it is not there.
  void add_setting(std::string setting);
};

/// A requested backend that cannot be measured here.
struct UnusableBackend {
  std::string name;
  std::string reason;
};

/// Results of a sweep so far.
struct SweepResults {
  std::string machine;  ///< one line: CPU, cores
  std::string device = "host";
  DataType type = DataType::float32;
  int ranks = 1;
  std::vector<OpKind> ops;
  std::vector<std::uint64_t> sizes;
  std::vector<BackendSetup> backends;
  std::vector<UnusableBackend> unusable;
  std::vector<SweepRow> rows;
};

/// Row of a successful cell. `times_us`: for each iteration the time of the slowest rank.
[[nodiscard]] SweepRow make_row(const SweepCell& cell, const std::string& backend, const CellShape& shape,
                                std::span<const double> times_us);

/// Begins the status of a cell that needs more memory than there is.
inline constexpr std::string_view kDoesNotFit = "does not fit";

/// One table per operation: a line per size, a group of columns per backend.
[[nodiscard]] std::string to_table(const SweepResults& results, const Terminal& terminal);
/// {"backends": [...], "rows": [...]}
[[nodiscard]] std::string to_json(const SweepResults& results);
/// CSV; the columns are the keys of the JSON rows.
[[nodiscard]] std::string to_csv(const SweepResults& results);

}  // namespace tutti::tools
