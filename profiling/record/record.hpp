#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tutti/types/data_type.hpp"
#include "tutti/types/operation.hpp"
#include "tutti/types/reduction.hpp"

/// Records of the communication of a job, and their replay. docs/record-format.md describes the files.
namespace tutti::replay {

/// A group of ranks of the job. Communicator 0 has all of them.
struct RecordedCommunicator {
  std::uint32_t number = 0;  ///< as in the file
  std::string name;
  std::vector<int> ranks;  ///< of the job, by rank of the communicator; empty: all ranks

  // Of a part only, which knows the place of one rank and not the other members.
  std::uint64_t key = 0;  ///< the same on all members
  int rank = 0;
  int size = 0;

  bool operator==(const RecordedCommunicator&) const = default;
};

/// Peer or tag of a receive that takes any: only in parts, which tell later which message it was.
inline constexpr std::int32_t kAny = -1;

/// A collective or message as a rank called it.
struct RecordedOperation {
  OpKind kind = OpKind::barrier;
  DataType type = DataType::uint8;
  Reduction reduction = Reduction::sum;
  bool in_place = false;
  bool async = false;              ///< the call returned at once; a later event waits for the operation
  std::uint32_t communicator = 0;  ///< index of JobRecord::communicators
  std::int32_t root = 0;           ///< or the peer of a message: a rank of the communicator
  std::int32_t tag = 0;            ///< of a message
  std::uint64_t count = 0;         ///< as Operation::count
  double prescale = 1;
  std::vector<std::uint64_t> in;  ///< counts of a vector operation; empty where this rank has none
  std::vector<std::uint64_t> out;
  std::string label;

  bool operator==(const RecordedOperation&) const = default;
};

enum class EventKind : std::uint8_t {
  operation,  ///< value: index of JobRecord::operations
  wait,       ///< value: number of a pending operation, counted from the oldest; kWaitAll: all of them
  group,      ///< begins operations that start as if at the same time
  repeat,     ///< begins events that happen `value` times
  end,        ///< ends a group or a repetition
};
inline constexpr std::uint32_t kWaitAll = UINT32_MAX;

struct Event {
  EventKind kind = EventKind::operation;
  bool async = false;  ///< of a group: it stays pending until a later event waits for it
  std::uint32_t value = 0;

  bool operator==(const Event&) const = default;
};

/// A time that is not known.
inline constexpr float kUnknownTime = std::numeric_limits<float>::quiet_NaN();
[[nodiscard]] inline bool is_known(float time_us) noexcept { return !std::isnan(time_us); }

/// The events of one rank, or of several ranks whose events are the same.
struct Sequence {
  std::vector<int> ranks;  ///< of the job; empty: all ranks
  std::vector<Event> events;
  // Microseconds by event; for each event one value, or one for each element of `ranks`.
  std::vector<float> gaps;   ///< between the end of the event before and the begin of this one
  std::vector<float> times;  ///< that the rank spent in the event; kUnknownTime where it did not end or is not known
  std::size_t width = 1;     ///< number of values per event

  [[nodiscard]] float gap(std::size_t event, std::size_t place) const { return value(gaps, event, place); }
  [[nodiscard]] float time(std::size_t event, std::size_t place) const { return value(times, event, place); }

 private:
  [[nodiscard]] float value(const std::vector<float>& list, std::size_t event, std::size_t place) const {
    return list[event * width + (width == 1 ? 0 : place)];
  }
};

/// Everything that a job communicated.
struct JobRecord {
  int ranks = 0;  ///< 0: any number
  std::string about;
  std::string backend;  ///< that the record was made on
  std::vector<RecordedCommunicator> communicators = {{}};
  std::vector<RecordedOperation> operations;
  std::vector<Sequence> sequences;

  /// Number of members of a communicator; `job_ranks`: of the job, if the record is of any number.
  [[nodiscard]] int size_of(std::uint32_t communicator, int job_ranks) const {
    const std::vector<int>& members = communicators[communicator].ranks;
    return members.empty() ? job_ranks : static_cast<int>(members.size());
  }
};

/// The version of the format that this library reads and writes.
inline constexpr int kFormatVersion = 1;
/// Limits of a record.
inline constexpr int kMostRanks = 1 << 16;
inline constexpr std::uint32_t kMostCommunicators = 1 << 20;

}  // namespace tutti::replay
