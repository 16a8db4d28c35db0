#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "tutti/device.hpp"
#include "tutti/error.hpp"
#include "tutti/export.hpp"
#include "tutti/operation.hpp"

namespace tutti {

/// Identifies an operation in this process; 0: none. Every record carries the one that caused it.
using OperationId = std::uint64_t;

/// An operation passed validation and was handed to a backend.
struct OpIssued {
  OperationId id;
  const Operation& operation;  ///< valid during the call only
  std::uint64_t communicator;
  int rank;
  int size;
  std::string_view backend;
  bool emulated;  ///< carried out by other operations of the backend or of its library
  std::uint64_t time_ns;
};

/// An operation ended, well or not. For stream work: when the host learnt of it.
struct OpCompleted {
  OperationId id;
  ErrorCode error;
  std::uint64_t time_ns;
};

/// A call into a library underneath.
struct HostCall {
  OperationId cause;
  std::string_view library;   ///< its short name; static storage
  std::string_view function;  ///< as in its header; static storage
  std::int64_t error;         ///< the library's code, 0 for success
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
};

/// Memory was taken or given back by tutti or by a library it drives.
struct Allocation {
  OperationId cause;
  std::string_view owner;  ///< "native", "emulation"; static storage
  const void* pointer;
  std::uint64_t bytes;
  Memory where;
  std::uint64_t time_ns;
};
struct Free {
  OperationId cause;
  std::string_view owner;
  const void* pointer;
  std::uint64_t bytes;
  Memory where;
  std::uint64_t time_ns;
};

/// Bytes moved by an explicit copy or fill between kinds of memory.
struct Traffic {
  OperationId cause;
  std::string_view owner;
  std::uint64_t bytes;
  Memory from;
  Memory to;
};

/// Work that a device did, by its own clock translated to the host's.
struct DeviceInterval {
  OperationId cause;
  std::string_view name;  ///< kernel or copy; valid during the call only
  Device device;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
};

/// Gets a record per event. Override what you want. Calls come from any thread that uses tutti, at the same time; they
/// must return quickly, throw nothing and call no operation. Times are nanoseconds of std::chrono::steady_clock.
class TUTTI_API Observer {
 public:
  virtual ~Observer() = default;
  virtual void on(const OpIssued&) noexcept {}
  virtual void on(const OpCompleted&) noexcept {}
  virtual void on(const HostCall&) noexcept {}
  virtual void on(const Allocation&) noexcept {}
  virtual void on(const Free&) noexcept {}
  virtual void on(const Traffic&) noexcept {}
  virtual void on(const DeviceInterval&) noexcept {}
};

namespace detail {
TUTTI_API extern std::atomic<Observer*> active_observer;
}

/// The observer of this process or null: the one test that instrumentation costs when it is off.
[[nodiscard]] inline Observer* observer() noexcept { return detail::active_observer.load(std::memory_order_acquire); }

/// Installs an observer (null: none) and returns the one before. It is called until replaced, so it must outlive that;
/// records already on their way in other threads may still arrive shortly after.
TUTTI_API Observer* set_observer(Observer* observer) noexcept;

/// Nanoseconds of the clock all records use.
[[nodiscard]] TUTTI_API std::uint64_t observer_time_ns() noexcept;

}  // namespace tutti
