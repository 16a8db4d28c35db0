#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "tutti/profiling.hpp"

/// The recorder of a profiling session: sources call it, from any thread, for every event that they see. Regions, start
/// and stop are in tutti/profiling.hpp, which programs use as well.
///
/// There is one recorder per process, in a shared library of its own, so that sources in several libraries write to the
/// same session. It depends on the C and C++ libraries only. A session is a folder with one file per process; the file
/// is mapped, so that everything recorded is there whatever ends the process.
namespace tutti::profiling {

/// Kind of a record. The unit of its value is in brackets.
enum class Kind : std::uint8_t {
  host,        ///< a call of a library's function [ns]
  device,      ///< work of a device [ns]
  traffic,     ///< bytes moved by an explicit copy or fill [bytes]
  allocation,  ///< memory allocated [bytes]
  release,     ///< memory freed [bytes]
  operation,   ///< a collective or message as its caller sees it [ns]
  stage,       ///< of a tensor that an engine knows by name, the label of the context; tensors overlap [ns]
};
inline constexpr std::size_t kKindCount = 7;

/// Numbers of things that were described to the recorder once, so that records are small. Valid in this process; 0 is
/// "none".
using NameId = std::uint32_t;
using SourceId = std::uint16_t;
using DeviceId = std::uint32_t;
using ContextId = std::uint32_t;
using CommunicatorId = std::uint32_t;

/// A device or sub-device, as the tables count them.
struct DeviceFacts {
  std::string_view name = {};    ///< for people, e.g. "Intel(R) Data Center GPU Max 1550"
  std::uint64_t device = 0;      ///< identifies the device on its host, e.g. a hash of its UUID
  std::uint64_t sub_device = 0;  ///< the same for a sub-device; 0: the whole device
};

/// The operation that causes records: they can be split by all of these.
struct Context {
  std::string_view operation = {};  ///< "allreduce", "send", ...
  std::string_view type = {};       ///< "float32", ...; may be empty
  std::string_view backend = {};    ///< the library that carries it out, "mpi:openmpi"; may be empty
  std::string_view label = {};      ///< the caller's name for the operation; may be empty
  std::uint64_t bytes = 0;          ///< message size
  std::uint32_t ranks = 0;          ///< of the communicator; 0: unknown
  bool operator==(const Context&) const = default;
};

/// A communicator: its operations are compared between ranks.
struct CommunicatorFacts {
  std::uint64_t key = 0;  ///< the same on all of its ranks, different for other communicators of the job
  std::string_view name = {};
  int rank = 0;
  int size = 1;
};

/// One event. Times are nanoseconds of CLOCK_MONOTONIC.
struct Record {
  Kind kind = Kind::host;
  SourceId source = 0;
  NameId name = 0;        ///< function, kernel, owner of memory, or operation
  ContextId context = 0;  ///< the operation that caused it; 0: none is known
  DeviceId device = 0;    ///< of device work, and of memory on a device; 0: the host
  std::int32_t error = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;         ///< equal to begin_ns if the event has no duration
  std::uint64_t bytes = 0;          ///< of traffic, allocation and release; of a host call: its message, if known
  std::uint64_t correlation = 0;    ///< equal for a call and the device work that it started; 0: none
  CommunicatorId communicator = 0;  ///< of an operation
  std::uint64_t sequence = 0;       ///< of an operation: its number on the communicator, equal on all ranks
};

namespace detail {
/// The word that is not 0 while a session records in this process. It may lie in the session's file, where
/// `tutti prof --control` changes it.
TUTTI_PROFILING_API extern std::atomic<const std::atomic<std::uint32_t>*> recording;
}  // namespace detail

/// Whether a session records in this process now. Sources test this first; it is the whole cost while none does.
[[nodiscard]] inline bool is_recording() noexcept {
  // Acquire (on x86-64 an ordinary load): the word is there for whoever sees its address.
  return detail::recording.load(std::memory_order_acquire)->load(std::memory_order_relaxed) != 0;
}

/// Now, in the clock of records.
[[nodiscard]] TUTTI_PROFILING_API std::uint64_t now_ns() noexcept;

/// Number of a name. The text is copied. Thread-safe; takes a lock for a name that is new to the process.
[[nodiscard]] TUTTI_PROFILING_API NameId intern(std::string_view name) noexcept;

/// Describes a source: its title in tables ("BACKEND_MPI") and its level, by which tables are ordered and merged. The
/// same title gives the same number.
[[nodiscard]] TUTTI_PROFILING_API SourceId add_source(std::string_view title, int level) noexcept;

[[nodiscard]] TUTTI_PROFILING_API DeviceId add_device(const DeviceFacts& device) noexcept;
[[nodiscard]] TUTTI_PROFILING_API CommunicatorId add_communicator(const CommunicatorFacts& communicator) noexcept;

/// Number of a context. A lookup without a lock where this thread has seen the context recently. After several thousand
/// different contexts sizes are rounded up to powers of two, and labels are left out.
[[nodiscard]] TUTTI_PROFILING_API ContextId add_context(const Context& context) noexcept;

/// Adds an event to the tables of this thread, and to its timeline where that is recorded. No lock, no system call, no
/// allocation in the steady state. Dropped, and counted as dropped, when the session's memory is used up.
TUTTI_PROFILING_API void record(const Record& event) noexcept;

/// Amount of calls that sources record: `minimal` leaves out everything but operations and collective calls, `standard`
/// leaves out calls that only ask for something and are made at a high rate, `full` leaves out nothing.
enum class TracingMode : std::uint8_t { minimal, standard, full };

/// The mode of this process's session.
[[nodiscard]] TUTTI_PROFILING_API TracingMode tracing_mode() noexcept;

/// Whether the session keeps single events, for a timeline. Without one, stages of tensors are not recorded.
[[nodiscard]] TUTTI_PROFILING_API bool keeps_timeline() noexcept;

/// Whether sources may change queues and events of the program so that devices tell their times where the program does
/// not ask for them. Off unless the user asks for it.
[[nodiscard]] TUTTI_PROFILING_API bool device_times_forced() noexcept;

/// Whether the environment turns a switch of a vendor's software on: the variable is 1.
[[nodiscard]] TUTTI_PROFILING_API bool is_switched_on(const char* variable) noexcept;

/// Folder of `tutti record`, for sources that write records of communication; empty: no record is made.
[[nodiscard]] TUTTI_PROFILING_API const char* record_folder() noexcept;

/// Whether the session wants this source ("tutti", "mpi", "ccl", "nccl", "sycl", "ze", "cuda", "memory") in this
/// process. A source that is not wanted passes calls through and records nothing.
[[nodiscard]] TUTTI_PROFILING_API bool source_wanted(std::string_view source) noexcept;

/// The context of records that this thread makes while the object exists; sources that see only library calls take
/// current_context() for theirs.
class TUTTI_PROFILING_API ContextScope {
 public:
  explicit ContextScope(ContextId context) noexcept;
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  ContextId previous_;
};
[[nodiscard]] TUTTI_PROFILING_API ContextId current_context() noexcept;

/// Names a function that current_context() asks on a thread without a ContextScope, so that a source of operations need
/// not tell of every change. At most one per process; it must be as fast as a lookup and may be called until the end.
TUTTI_PROFILING_API void set_context_finder(ContextId (*finder)() noexcept) noexcept;

/// Tells the session the rank of this process in its job. The first call counts.
TUTTI_PROFILING_API void set_rank(int rank, int size) noexcept;

/// Tells the session why not everything is recorded. A literal; kept if it is the first of the process.
TUTTI_PROFILING_API void add_problem(const char* problem) noexcept;

}  // namespace tutti::profiling
