#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sweep/plan/sweep_cell.hpp"

namespace tutti::tools {

/// Work of a rank's device for one call, as reported to the observer: copies, kernels and operations of a library.
struct DeviceUse {
  std::uint64_t calls = 0;
  double time_us = 0;    ///< time during which any of them was running
  bool is_span = false;  ///< includes a library's operation in the queue with its wait for other ranks
};

/// Totals over all ranks of the counted calls of a cell, which come after the timed ones: counting takes time.
struct CellCounts {
  std::uint64_t calls = 0;       ///< counted calls of the operation on each rank
  std::uint64_t host_calls = 0;  ///< calls into the library
  double host_time_us = 0;
  std::uint64_t device_calls = 0;  ///< copies, kernels and operations of a library on devices
  double device_time_us = 0;
  std::uint64_t traffic_calls = 0;  ///< explicit copies between memories
  std::uint64_t traffic_bytes = 0;
  std::uint64_t alloc_calls = 0;
  std::uint64_t alloc_bytes = 0;
  std::uint64_t peak_bytes = 0;  ///< most that was allocated at once during the calls, on the rank where it was most

  /// Adds the counts of another rank to these of some ranks.
  void add_rank(const CellCounts& rank) noexcept;
};

/// Result of one cell on one backend.
struct SweepRow {
  SweepCell cell;
  std::string backend;
  int ranks = 1;
  DataType type = DataType::float32;
  std::uint64_t bytes = 0;    ///< message size as nccl-tests counts it
  std::string status = "ok";  ///< or the failure in one line
  double time_us_p50 = 0;     ///< with several runs: the median of their medians
  double time_us_min = 0;
  double time_us_p99 = 0;
  double algbw_gbs = 0;
  double busbw_gbs = 0;
  std::vector<double> run_medians_us = {};     ///< one per run of the sweep, in their order
  std::vector<double> rank_time_us = {};       ///< median of the calls by rank; empty for failed cells
  std::vector<double> run_steps_us = {};       ///< one per run: a computation and the call; empty without --compute
  std::vector<double> run_computes_us = {};    ///< one per run: that computation alone
  DeviceUse device = {};                       ///< of the rank whose device took longest; nothing on the host
  double observed_time_us = 0;                 ///< of the calls in which `device` was observed, which takes time
  std::optional<CellCounts> counts = {};       ///< nothing in files of old versions and for failed cells
  std::vector<std::string> rank_devices = {};  ///< by rank; empty when the ranks failed before they reported it
  std::string served_by = {};                  ///< the leaf that carried the operation out
  std::string emulated = {};                   ///< how tutti built the operation; empty: the library has it
  bool is_staged = false;                      ///< copied through host memory
  std::string note = {};

  [[nodiscard]] bool ok() const noexcept { return status == "ok"; }
  /// For people: the bus bandwidth; with one rank, for which it is 0, the size by the time.
  [[nodiscard]] double shown_gbs() const noexcept { return ranks > 1 ? busbw_gbs : algbw_gbs; }
};

/// How a backend was started and what it consisted of, so that a reader can judge whether it was started well.
struct BackendSetup {
  std::string backend;
  std::string version = {};                 ///< of the launcher or the library
  std::vector<std::string> launcher = {};   ///< the command that started the ranks; empty: tutti itself
  std::vector<std::string> variables = {};  ///< "NAME=value", for the launcher and the ranks
  std::vector<std::string> settings = {};   ///< "NAME=value", chosen by the module for its library
  std::string library = {};                 ///< path of the library that was loaded
  // Of all ranks together, as in the header lines of iprof:
  std::uint64_t hostnames = 0;
  std::uint64_t processes = 0;
  std::uint64_t threads = 0;
  std::uint64_t devices = 0;
  std::uint64_t subdevices = 0;

  /// Adds a setting if it is not there.
  void add_setting(std::string setting);
  /// Adds what a job of the backend was found to use: its library, and the numbers where they are larger.
  void add_use(const BackendSetup& job);
};

/// A requested backend that cannot be measured here.
struct UnusableBackend {
  std::string name;
  std::string reason;
};

/// The machine and the program that measured.
struct SweepHead {
  std::string tutti = {};  ///< version
  std::string begun = {};  ///< UTC, ISO 8601
  std::string hostname = {};
  std::string cpu = {};
  int cores = 0;
  std::string kernels = {};  ///< target of the SIMD kernels
  std::uint64_t memory_bytes = 0;
  std::vector<std::string> settings = {};  ///< "NAME=value" of the command: runs, seed, times
};

/// Results of a sweep so far.
struct SweepResults {
  SweepHead head = {};
  std::string machine;  ///< one line: CPU, cores
  std::string device = "host";
  DataType type = DataType::float32;
  int ranks = 1;  ///< of the first part of the sweep; every row has its own
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

}  // namespace tutti::tools
