#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "tutti/device.hpp"
#include "tutti/error.hpp"
#include "tutti/export.hpp"
#include "tutti/operation.hpp"

namespace tutti {

/// Number of an operation in this process; 0: none. Every record has the number of the operation that caused it.
using OperationId = std::uint64_t;

/// An operation passed validation and was passed to a backend.
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

/// An operation ended, successfully or not. For a stream operation `time_ns` is when the host noticed it.
struct OpCompleted {
  OperationId id;
  ErrorCode error;
  std::uint64_t time_ns;
};

/// A call into a vendor library.
struct HostCall {
  OperationId cause;
  std::string_view library;   ///< short name of the library; static storage
  std::string_view function;  ///< name in the library's header; static storage
  std::int64_t error;         ///< the library's code, 0 for success
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
};

/// Memory was allocated by tutti or by a library that it uses.
struct Allocation {
  OperationId cause;
  std::string_view owner;  ///< "native", "emulation"; static storage
  const void* pointer;
  std::uint64_t bytes;
  Memory where;
  std::uint64_t time_ns;
};
/// The counterpart of Allocation.
struct Free {
  OperationId cause;
  std::string_view owner;
  const void* pointer;
  std::uint64_t bytes;
  Memory where;
  std::uint64_t time_ns;
};

/// Bytes written by an explicit copy between kinds of memory or by a fill.
struct Traffic {
  OperationId cause;
  std::string_view owner;
  std::uint64_t bytes;
  Memory from;
  Memory to;
};

/// Work done by a device, timed with its own clock and converted to the host's clock.
struct DeviceInterval {
  OperationId cause;
  std::string_view name;  ///< kernel or copy; valid during the call only
  Device device;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
};

/// Receives one record per event; override the functions of interest. Called concurrently from all threads that use
/// tutti; implementations must return quickly, throw nothing and call no operation. Times are nanoseconds of
/// std::chrono::steady_clock.
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

/// The observer of this process, or null. Instrumentation costs only this test while there is no observer.
[[nodiscard]] inline Observer* observer() noexcept { return detail::active_observer.load(std::memory_order_acquire); }

/// Installs an observer (null: none) and returns the previous one. An observer must outlive its replacement: other
/// threads may still deliver records to it shortly afterwards.
TUTTI_API Observer* set_observer(Observer* observer) noexcept;

/// Nanoseconds of the clock all records use.
[[nodiscard]] TUTTI_API std::uint64_t observer_time_ns() noexcept;

}  // namespace tutti
