#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "session/buckets.hpp"
#include "session/recorder.hpp"

/// The content of a profiling session as tables, merged over its processes. SessionReader makes it, sinks print it.
namespace tutti::profiling {

/// Distribution of values for percentiles: four buckets per power of two, so that a percentile is off by less than
/// 1/8 of its value.
class Histogram {
 public:
  static constexpr std::size_t kBuckets = kBucketCount;
  void add(std::uint64_t value, std::uint64_t times = 1) noexcept;
  void add(const Histogram& other) noexcept;
  void add_bucket(std::size_t bucket, std::uint64_t times) noexcept { counts_[bucket] += times; }
  /// The value below which this share (0 to 1) of all values lies; 0 if there is none.
  [[nodiscard]] std::uint64_t quantile(double share) const noexcept;
  [[nodiscard]] static std::size_t bucket_of(std::uint64_t value) noexcept { return profiling::bucket_of(value); }

 private:
  std::array<std::uint64_t, kBuckets> counts_ = {};
};

/// Values of all events of a row. Failed events count in `calls` and `errors` only.
struct Statistics {
  std::uint64_t calls = 0;
  std::uint64_t errors = 0;
  std::uint64_t total = 0;
  std::uint64_t min = UINT64_MAX;  ///< UINT64_MAX if no event succeeded
  std::uint64_t max = 0;
  std::uint64_t bytes = 0;  ///< messages of host calls and operations; 0: unknown
  Histogram values;

  void add(const Statistics& other) noexcept;
};

struct SourceRow {
  std::string title;  ///< "BACKEND_MPI"
  int level = 0;
};

struct DeviceRow {
  std::string name;
  std::uint64_t device = 0;
  std::uint64_t sub_device = 0;
};

struct ContextRow {
  std::string operation, type, backend, label;
  std::uint64_t bytes = 0;
  std::uint32_t ranks = 0;
};

struct ProcessRow {
  std::string host;
  std::string command;
  std::uint32_t pid = 0;
  int rank = -1;  ///< -1: none known
  int size = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;          ///< of the last record
  std::int64_t realtime_offset = 0;  ///< nanoseconds to add to its times for those of CLOCK_REALTIME
  bool ended = false;                ///< ended in order, so that everything it did is here
  std::uint64_t records = 0;
  std::uint64_t dropped = 0;         ///< records that found no room
  std::uint64_t dropped_events = 0;  ///< records that are in the tables, but found no room in the timeline
  double cost_ns = 0;                ///< measured time that one record takes
  std::uint64_t file_bytes = 0;      ///< memory that the session took in this process
  std::uint64_t resident_peak = 0;   ///< bytes; 0: unknown
  std::string problem;               ///< why the process is incomplete, or empty

  /// Time that its records took, by the cost of one measured in the process.
  [[nodiscard]] double recording_ns() const noexcept { return static_cast<double>(records) * cost_ns; }
  /// Time from its first record to its last.
  [[nodiscard]] double run_ns() const noexcept {
    return end_ns > begin_ns ? static_cast<double>(end_ns - begin_ns) : 0;
  }
};

/// One row of a thread's tables. Indices refer to the vectors of Profile; -1: none.
struct TallyRow {
  Kind kind = Kind::host;
  int source = -1;
  int process = -1;
  std::uint32_t thread = 0;  ///< its system-wide id
  int device = -1;
  int context = -1;
  std::string name;
  std::string region;
  Statistics statistics;
};

/// Memory by owner and place.
struct MemoryRow {
  std::string owner;
  int source = -1;
  int process = -1;
  int device = -1;  ///< -1: host memory
  std::uint64_t allocations = 0, allocated_bytes = 0;
  std::uint64_t releases = 0, released_bytes = 0;
  std::uint64_t peak_bytes = 0;
  /// Bytes still held at the end.
  [[nodiscard]] std::uint64_t held_bytes() const noexcept {
    return allocated_bytes > released_bytes ? allocated_bytes - released_bytes : 0;
  }
};

struct CommunicatorRow {
  std::uint64_t key = 0;
  std::string name;
  int process = -1;
  int rank = 0;
  int size = 1;
};

/// An event of the timeline. Operations are always kept (up to a limit); the others where a timeline was asked for.
struct EventRow {
  Kind kind = Kind::host;
  int source = -1;
  int process = -1;
  int device = -1;
  int context = -1;
  int communicator = -1;
  std::uint32_t thread = 0;
  std::uint32_t name = 0;    ///< index of Profile::names
  std::uint32_t region = 0;  ///< index of Profile::names; 0: none
  std::int32_t error = 0;
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint64_t bytes = 0;
  std::uint64_t correlation = 0;
  std::uint64_t sequence = 0;
};

struct Profile {
  std::vector<std::string> names = {""};
  std::vector<SourceRow> sources;
  std::vector<DeviceRow> devices;
  std::vector<ContextRow> contexts;
  std::vector<ProcessRow> processes;
  std::vector<CommunicatorRow> communicators;
  std::vector<TallyRow> rows;
  std::vector<MemoryRow> memory;
  std::vector<EventRow> events;       ///< by process, then by time of begin
  std::vector<std::string> warnings;  ///< files that could not be read, records that were dropped, for people
};

}  // namespace tutti::profiling
