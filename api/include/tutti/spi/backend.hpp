#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string_view>

#include "tutti/error.hpp"
#include "tutti/export.hpp"
#include "tutti/operation.hpp"
#include "tutti/spi/capabilities.hpp"

/// What a backend implements. Operations arrive validated and within the Capabilities; all failures are thrown as
/// tutti::Error. Public methods are not virtual, so what every backend must do around them has one place.
namespace tutti::spi {

/// Whether an operation that fails so leaves the other ranks waiting for this one's part of it: the communicator then
/// fails for good. A call that was refused before anything of it began does not.
[[nodiscard]] constexpr bool ends_communicator(ErrorCode code) noexcept {
  return code != ErrorCode::unsupported && code != ErrorCode::invalid_usage && code != ErrorCode::invalid_argument;
}

/// The moment an operation must be over; max() when there is none.
using Deadline = std::chrono::steady_clock::time_point;

/// An operation a backend has started. Destroyed only after it completed or the communicator failed; one that a stream
/// orders at any time.
class TUTTI_API PendingOperation {
 public:
  virtual ~PendingOperation() = default;
  PendingOperation(const PendingOperation&) = delete;
  PendingOperation& operator=(const PendingOperation&) = delete;

  /// Makes progress; true when complete. Throws the operation's Error. Not called again after either.
  [[nodiscard]] bool poll() { return do_poll(); }
  /// Progresses until complete (true) or `until` has passed (false). Throws the operation's Error.
  [[nodiscard]] bool wait(Deadline until) { return do_wait(until); }

 protected:
  PendingOperation() = default;

 private:
  virtual bool do_poll() = 0;
  virtual bool do_wait(Deadline until) = 0;
};

/// A backend's side of one communicator. Calls are ordered by the caller; abort() may come from any thread at any time.
/// After a timeout, a dead peer or an abort every operation fails, at once and with the code of the first.
class TUTTI_API BackendCommunicator {
 public:
  virtual ~BackendCommunicator() = default;
  BackendCommunicator(const BackendCommunicator&) = delete;
  BackendCommunicator& operator=(const BackendCommunicator&) = delete;

  [[nodiscard]] const Capabilities& capabilities() const noexcept { return capabilities_; }
  /// Before the first operation: see Capabilities::require_rank_order().
  void require_rank_order() noexcept { capabilities_.require_rank_order(); }
  /// Likewise: see Capabilities::require_own().
  void require_own() noexcept { capabilities_.require_own(); }

  /// Carries out a host operation and returns when it is complete.
  void run(const Operation& operation) { do_run(operation); }
  /// Whether reaches() could say yes to an operation, as far as this rank can tell. From any thread.
  [[nodiscard]] bool may_reach(const Operation& operation) const { return do_may_reach(operation); }
  /// Whether run() takes the device memory of this operation, which is within the Capabilities, by its addresses. It
  /// is then not copied to the host and back. Asked on all ranks in the order of the calls, from one thread at a time;
  /// all must say the same, so they may have to talk. Yes is followed by run(). The application's stream has come to
  /// the operation by then and waits for it; `operation.stream` is another one beside it, for the backend to use.
  [[nodiscard]] bool reaches(const Operation& operation) { return do_reaches(operation); }
  /// Starts an operation: asynchronously on the host, or ordered by its stream. `operation` need not outlive the call;
  /// its buffers and layouts do.
  [[nodiscard]] std::unique_ptr<PendingOperation> start(const Operation& operation) { return do_start(operation); }
  /// Starts one or more operations as if at the same time. They have the same timeout, which is that
  /// of all together. As start().
  [[nodiscard]] std::unique_ptr<PendingOperation> start_group(std::span<const Operation> operations) {
    return do_start_group(operations);
  }
  /// Carries out operations as if at the same time. As start_group().
  void run_group(std::span<const Operation> operations);
  /// See Communicator::abort().
  void abort() noexcept { do_abort(); }

 protected:
  explicit BackendCommunicator(const Capabilities& capabilities) noexcept : capabilities_(capabilities) {}

 private:
  virtual void do_run(const Operation& operation) = 0;
  virtual bool do_may_reach(const Operation&) const { return false; }
  virtual bool do_reaches(const Operation&) { return false; }
  virtual std::unique_ptr<PendingOperation> do_start(const Operation& operation) = 0;
  /// Starts one after the other.
  virtual std::unique_ptr<PendingOperation> do_start_group(std::span<const Operation> operations);
  virtual void do_abort() noexcept = 0;

  Capabilities capabilities_;
};

}  // namespace tutti::spi
