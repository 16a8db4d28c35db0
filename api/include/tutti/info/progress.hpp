#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tutti/error.hpp"
#include "tutti/export.hpp"
#include "tutti/types/data_type.hpp"
#include "tutti/types/operation.hpp"
#include "tutti/types/reduction.hpp"

/// How far the ranks of this host have come, as `tutti ps` and `tutti doctor` show it. Each process with communicators
/// keeps this in memory that others of the same user can read; see "Who waits for whom" in the guide.
namespace tutti {

enum class CommunicatorStage : std::uint8_t {
  creating,   ///< the ranks meet
  active,     ///< ready for use
  failed,     ///< every call fails; `failure` has the reason
  destroyed,  ///< by this rank
};

/// State of one rank in one communicator at a moment.
struct ProgressSnapshot {
  CommunicatorStage stage = CommunicatorStage::creating;
  std::uint64_t sequence = 0;  ///< number of the last collective entered; 0: none yet
  std::uint64_t left = 0;      ///< number of the last collective whose call has returned
  std::uint64_t ticks = 0;     ///< twice the number of messages; odd inside of one
  std::uint64_t waits = 0;     ///< calls that waited for a Work
  std::uint64_t waited = 0;    ///< of those, calls that have returned
  std::uint32_t pending = 0;   ///< operations started and not yet seen to complete
  std::uint32_t thread = 0;    ///< that waits, as far as known, else the one that created the communicator
  std::int64_t since_ns = 0;   ///< CLOCK_MONOTONIC since when this state lasts, at the latest; 0: not known

  // The last call entered.
  OpKind kind = OpKind::barrier;
  DataType type = DataType::uint8;
  Reduction reduction = Reduction::sum;
  std::int32_t root = 0;
  std::uint64_t count = 0;
  bool grouped = false;  ///< it is a group of several operations, the last of which is described
  bool started = false;  ///< it returns before the operation is complete

  /// Whether a call is inside the communicator.
  [[nodiscard]] bool is_inside() const noexcept { return is_in_call() || waits > waited; }
  /// Whether that call is a collective or a message, not the wait for one.
  [[nodiscard]] bool is_in_call() const noexcept { return sequence > left || (ticks & 1) != 0; }
  /// Whether there was a call at all.
  [[nodiscard]] bool has_called() const noexcept { return sequence != 0 || ticks != 0; }
  /// Equal at two times: nothing happened between them.
  [[nodiscard]] std::uint64_t activity() const noexcept { return sequence + left + ticks + waits + waited; }
};

/// "allreduce(sum) #41 of 1024 float32 (4 KiB)", "recv of 3 int8 (3 B) from rank 2": the last call entered.
[[nodiscard]] TUTTI_API std::string describe_call(const ProgressSnapshot& progress);

/// A rank of a communicator in a process of this host.
struct CommunicatorProgress : ProgressSnapshot {
  std::string job;                 ///< the same on all ranks of a job; empty while they meet
  std::uint64_t communicator = 0;  ///< the same on all ranks of a communicator; 0 while they meet
  std::string name;
  std::string backend;  ///< empty while it is being created
  std::string device;   ///< of the rank's placement; empty: none was asked for
  int rank = -1;
  int size = 0;
  int job_rank = -1;   ///< in the communicator that this one was split from first; -1 while the ranks meet
  int ranks_here = 0;  ///< ranks of the communicator on this host; 0 while the ranks meet
  ErrorCode failure_code = ErrorCode::ok;
  std::string failure;
  std::string stall;    ///< tensors of an engine that wait for ranks, with these ranks; empty: there are none
  int stalled_by = -1;  ///< the first of these ranks, in the communicator
};

/// A process of this host that has communicators.
struct ProcessProgress {
  std::int64_t pid = 0;
  std::string problem;  ///< why its state cannot be read, e.g. another version of tutti; empty: it can
  std::vector<CommunicatorProgress> communicators;
  std::uint64_t communicators_without = 0;  ///< further communicators, for which there was no room
};

/// Looks at the processes of this user (root: of all users) through /proc. Treats what it finds as input of strangers:
/// a process that shows nonsense has a `problem`. Does not disturb the processes.
[[nodiscard]] TUTTI_API std::vector<ProcessProgress> read_progress();

}  // namespace tutti
