#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tutti/device.hpp"
#include "tutti/error.hpp"
#include "tutti/export.hpp"
#include "tutti/types/operation.hpp"

namespace tutti {

/// Number of an operation in this process; 0: none. Every record has the number of the operation that caused it.
using OperationId = std::uint64_t;

/// A communicator was created. An observer that is added later gets this record for every communicator that exists.
struct CommunicatorCreated {
  std::uint64_t communicator;  ///< number of the communicator in this process
  std::uint64_t parent;        ///< the communicator it was split from; 0: none
  std::uint64_t key;           ///< the same on all of its ranks, different for every other communicator
  std::string_view name;       ///< this and the following are valid during the call only
  std::string_view backend;    ///< as BackendCommunicator::name(): the spec, e.g. "native"
  int rank;
  int size;
  std::span<const std::string> hosts;  ///< by rank
  std::uint64_t time_ns;
};
/// A communicator was destroyed.
struct CommunicatorDestroyed {
  std::uint64_t communicator;
  std::uint64_t time_ns;
};

/// An operation passed validation and was passed to a backend.
struct OpIssued {
  OperationId id;
  const Operation& operation;  ///< with the caller's label; valid during the call only
  std::uint64_t communicator;
  int rank;
  int size;
  std::string_view
      backend;    ///< the leaf that carries it out, e.g. "native" below a composite; valid during the call only
  bool emulated;  ///< carried out by other operations of the backend or of its library
  std::uint64_t time_ns;
  bool async = false;       ///< the call returns before the operation has ended
  std::uint64_t group = 0;  ///< number of the group that starts it with others; 0: none
};

/// The program begins to wait for an operation that is pending; of a group: for one of each communicator.
struct WaitBegun {
  OperationId id;
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
  std::int64_t error;         ///< the library's result code: 0 for success; a few others mean "not ready yet"
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

/// An operation of the inner backend by which a backend that stands on it carried out operations of the program,
/// several of them together perhaps.
struct InnerOperation {
  OpKind kind;
  std::uint64_t bytes;  ///< message size, as message_bytes()
  std::uint32_t parts;  ///< operations of the program in it
  /// Operations of one number are the pieces of what the outer backend fused, in order. Different for every other one
  /// in this process.
  std::uint64_t batch;
  int rank;  ///< in the communicator of the inner backend
  int size;
  std::uint64_t begin_ns;  ///< before the copies into a buffer for it
  std::uint64_t end_ns;
};

/// Receives one record per event; override the functions of interest. Called concurrently from all threads that use
/// tutti; implementations must return quickly, throw nothing and call no operation. Times are nanoseconds of
/// std::chrono::steady_clock.
class TUTTI_API Observer {
 public:
  virtual ~Observer() = default;
  virtual void on(const CommunicatorCreated&) noexcept {}
  virtual void on(const CommunicatorDestroyed&) noexcept {}
  virtual void on(const OpIssued&) noexcept {}
  virtual void on(const OpCompleted&) noexcept {}
  virtual void on(const HostCall&) noexcept {}
  virtual void on(const Allocation&) noexcept {}
  virtual void on(const Free&) noexcept {}
  virtual void on(const Traffic&) noexcept {}
  virtual void on(const DeviceInterval&) noexcept {}
  virtual void on(const WaitBegun&) noexcept {}
  virtual void on(const InnerOperation&) noexcept {}
};

namespace detail {
/// Null, or the one observer that passes records on to all that were added.
TUTTI_API extern std::atomic<Observer*> active_observer;
/// Reasons of any kind in this process for calls to leave the inline path: observers and open groups.
TUTTI_API extern std::atomic<std::uint32_t> attention;
TUTTI_API void remove_observer(Observer& observer) noexcept;
}  // namespace detail

/// The observers of this process as one, or null. Instrumentation costs only this test while there is no observer.
[[nodiscard]] inline Observer* observer() noexcept { return detail::active_observer.load(std::memory_order_acquire); }

/// Keeps an observer added; removes it when it is destroyed. Move-only.
class [[nodiscard]] ObserverHandle {
 public:
  ObserverHandle() noexcept = default;
  explicit ObserverHandle(Observer& observer) noexcept : observer_(&observer) {}
  ObserverHandle(ObserverHandle&& other) noexcept : observer_(std::exchange(other.observer_, nullptr)) {}
  ObserverHandle& operator=(ObserverHandle&& other) noexcept {
    std::swap(observer_, other.observer_);
    return *this;
  }
  ~ObserverHandle() { reset(); }

  /// Removes the observer now. No record is delivered to it after this returns. Called within a delivery, by this
  /// observer or another, it does not wait: other threads may still be delivering a record to the observer.
  void reset() noexcept {
    if (observer_ != nullptr) detail::remove_observer(*std::exchange(observer_, nullptr));
  }

 private:
  Observer* observer_ = nullptr;
};

/// Adds an observer to those that receive the records of this process. It must outlive the handle. Thread-safe, as is
/// the removal.
[[nodiscard]] TUTTI_API ObserverHandle add_observer(Observer& observer);

/// Nanoseconds of the clock all records use.
[[nodiscard]] TUTTI_API std::uint64_t observer_time_ns() noexcept;

}  // namespace tutti
