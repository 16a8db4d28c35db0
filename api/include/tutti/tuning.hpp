#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tutti/communicator.hpp"
#include "tutti/composition.hpp"
#include "tutti/config.hpp"
#include "tutti/device.hpp"
#include "tutti/export.hpp"
#include "tutti/types/data_type.hpp"
#include "tutti/types/operation.hpp"

namespace tutti {

/// Data types with the same row in a tuning table.
enum class TypeClass : std::uint8_t {
  any,       ///< of operations that only move data
  floating,  ///< float32, float64
  half,      ///< float16, bfloat16, float8_e4m3, float8_e5m2
  integer,
};

/// The class of a type in an operation.
[[nodiscard]] TUTTI_API TypeClass type_class(OpKind kind, DataType type) noexcept;
/// "any", "floating", ...
[[nodiscard]] TUTTI_API std::string_view name(TypeClass types) noexcept;

/// A measured time at a message size.
struct TunedTime {
  std::uint64_t bytes = 0;
  double us = 0;

  friend bool operator==(const TunedTime&, const TunedTime&) = default;
};

/// A backend in a row of the table, with the way in which it carries the operation out.
struct TunedBackend {
  std::string spec;                             ///< as in TUTTI_BACKEND
  std::vector<TunedTime> times;                 ///< by size, ascending
  Composition composition = Composition::none;  ///< none: by its own operation

  /// Time at a size: between two points by their logarithms, outside of them as at the nearest one in proportion to the
  /// size; 0 without points.
  [[nodiscard]] TUTTI_API double expected_us(std::uint64_t bytes) const noexcept;

  friend bool operator==(const TunedBackend&, const TunedBackend&) = default;
};

/// Size without a limit, as the end of a range.
inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// A range of message sizes in which one backend was the fastest.
struct TuningRow {
  OpKind op = OpKind::allreduce;
  bool on_device = false;  ///< memory of devices, else of the host
  TypeClass types = TypeClass::any;
  int ranks_from = 1;
  int ranks_to = 1;  ///< inclusive
  std::uint64_t from = 0;
  std::uint64_t to = kNoLimit;         ///< exclusive
  double margin = 0;                   ///< of the fastest backend over the next one: 0.1 is 10 % of its time
  double certainty = 0;                ///< 0 to 1: part of the comparisons of runs that the fastest one won
  std::vector<TunedBackend> backends;  ///< the fastest first; at least one

  friend bool operator==(const TuningRow&, const TuningRow&) = default;
};

/// The machine that a table was measured on, as far as times depend on it.
struct TuningMachine {
  std::string cpu;
  int cores = 0;

  friend bool operator==(const TuningMachine&, const TuningMachine&) = default;
};

/// This machine: all of its cores, whatever the process may use.
[[nodiscard]] TUTTI_API TuningMachine this_tuning_machine();

/// The best values of an engine that tunes itself, in the words of that engine.
struct TunedEngine {
  std::string spec;  ///< as in TUTTI_BACKEND
  int ranks = 1;
  std::vector<std::pair<std::string, std::string>> values;  ///< key and value, both without blanks

  friend bool operator==(const TunedEngine&, const TunedEngine&) = default;
};

/// Content of a tuning file.
struct TuningTable {
  std::string tutti;  ///< version
  TuningMachine machine;
  std::string host;    ///< for people; another host with the same machine may use the table
  std::string device;  ///< devices of rows with on_device
  std::vector<std::pair<std::string, std::string>> libraries;  ///< spec and version of each backend
  std::vector<TuningRow> rows;
  std::vector<TunedEngine> engines;

  /// The values of an engine for that number of ranks, or null.
  [[nodiscard]] TUTTI_API const TunedEngine* find_engine(std::string_view spec, int ranks) const noexcept;
  /// The row for an operation, or null.
  [[nodiscard]] TUTTI_API const TuningRow* find(OpKind op, bool on_device, TypeClass types, int ranks,
                                                std::uint64_t bytes) const noexcept;

  friend bool operator==(const TuningTable&, const TuningTable&) = default;
};

/// The table as the text of a tuning file; docs/tuning.md describes it.
[[nodiscard]] TUTTI_API std::string to_text(const TuningTable& table);
/// Reads the text of a tuning file. Throws Error{config} that names the line and the fault.
[[nodiscard]] TUTTI_API TuningTable parse_tuning(std::string_view text);

/// Why a table does not apply to this machine and version; empty if it does.
[[nodiscard]] TUTTI_API std::string objection_to(const TuningTable& table, const TuningMachine& machine,
                                                 std::string_view version);

/// The tuning file of this process.
struct LoadedTuning {
  std::optional<TuningTable> table;  ///< nothing if there is no file, or none that may be used
  std::string path = {};             ///< of the table
  std::string notice = {};           ///< files that are not used and the reason, one sentence; usually empty
};

/// Reads the tuning file: that of TUTTI_TUNING, else the user's, else the system's. Never throws for a bad file.
[[nodiscard]] TUTTI_API LoadedTuning load_tuning(const Config& config);

/// Path of the user's tuning file, whether it exists or not; empty without a home folder.
[[nodiscard]] TUTTI_API std::string user_tuning_path();

/// The choice of `auto` in a job of `ranks` processes that tutti starts on this host, and why; starts no library.
/// Throws Error{config} or Error{backend_unavailable} where such a job would.
[[nodiscard]] TUTTI_API Explanation explain_auto(const Config& config, int ranks, OpKind op, std::uint64_t bytes,
                                                 DataType type = DataType::float32,
                                                 Reduction reduction = Reduction::sum,
                                                 MemoryKind memory = MemoryKind::host);

/// The part of `text` that looks like a version number, "4.1.4"; empty if there is none.
[[nodiscard]] TUTTI_API std::string_view version_number(std::string_view text) noexcept;

}  // namespace tutti
