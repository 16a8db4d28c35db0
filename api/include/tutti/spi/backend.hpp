#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/error.hpp"
#include "tutti/export.hpp"
#include "tutti/spi/capabilities.hpp"
#include "tutti/types/operation.hpp"

/// Interface that a backend implements. Operations arrive validated and within the Capabilities; all failures are
/// thrown as tutti::Error. Public methods are not virtual, so that code common to all backends has one place.
namespace tutti::spi {

struct BackendModule;
class NamedEngine;

/// Whether an operation that fails with `code` leaves the other ranks waiting for this rank's part, so that the
/// communicator is unusable from then on. False for calls that are refused before the operation begins.
[[nodiscard]] constexpr bool ends_communicator(ErrorCode code) noexcept {
  return code != ErrorCode::unsupported && code != ErrorCode::invalid_usage && code != ErrorCode::invalid_argument;
}

/// Time by which an operation must have completed; max() if there is no limit.
using Deadline = std::chrono::steady_clock::time_point;

/// An operation that a backend has started. Destroyed only after it has completed or the communicator has failed; a
/// stream operation may be destroyed at any time.
class TUTTI_API PendingOperation {
 public:
  virtual ~PendingOperation() = default;
  PendingOperation(const PendingOperation&) = delete;
  PendingOperation& operator=(const PendingOperation&) = delete;

  /// Makes progress; true once complete. Throws the operation's Error. Not called again after it returned true or
  /// threw.
  [[nodiscard]] bool poll() { return do_poll(); }
  /// Makes progress until complete (true) or `until` has passed (false). Throws the operation's Error.
  [[nodiscard]] bool wait(Deadline until) { return do_wait(until); }

 protected:
  PendingOperation() = default;

 private:
  virtual bool do_poll() = 0;
  virtual bool do_wait(Deadline until) = 0;
};

/// A backend's part of one communicator. The caller serialises the calls; abort() may be called from any thread at any
/// time. After a timeout, a dead peer or an abort every operation fails immediately with the code of that first
/// failure.
class TUTTI_API BackendCommunicator {
 public:
  virtual ~BackendCommunicator() = default;
  BackendCommunicator(const BackendCommunicator&) = delete;
  BackendCommunicator& operator=(const BackendCommunicator&) = delete;

  /// The backend as a spec with every word that was decided: its product, the backend that it stands on.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The module that created it; null before spi::create_backend() or the core has taken it over.
  [[nodiscard]] const BackendModule* module() const noexcept { return module_; }
  [[nodiscard]] const Capabilities& capabilities() const noexcept { return capabilities_; }
  /// Settings of the library that the module chose, each as "NAME=value".
  [[nodiscard]] std::vector<std::string> settings() const { return do_settings(); }
  /// Called before the first operation; see Capabilities::require_rank_order().
  void require_rank_order() noexcept { capabilities_.require_rank_order(); }
  /// Called before the first operation; see Capabilities::require_own().
  void require_own() noexcept { capabilities_.require_own(); }

  /// The communicator that carries out an operation: this one, or a leaf of a composite. The core asks once per
  /// operation; emulation, staging, observation and error texts then refer to the leaf. The answer depends only on
  /// facts that all ranks of the operation share (see common_bytes() in tutti/spi/nested.hpp), so it is the same on
  /// all.
  [[nodiscard]] BackendCommunicator& route(const Operation& operation) { return do_route(operation); }

  /// Carries out a host operation and returns when it is complete.
  void run(const Operation& operation) {
    try {
      do_run(operation);
    } catch (const Error& error) {
      rethrow(error);
    }
  }
  /// Whether reaches() might be true for an operation, as far as this rank can tell. Called from any thread.
  [[nodiscard]] bool may_reach(const Operation& operation) const { return do_may_reach(operation); }
  /// Whether run() can access the device memory of this operation directly, so that it is not copied to the host and
  /// back. The operation is within the Capabilities. Called on all ranks in the order of the operations, from one
  /// thread at a time; all ranks must return the same, which may need communication. If true, run() follows. The
  /// application's stream has then reached the operation and waits for it; `operation.stream` is another stream of the
  /// same device and context for the backend to use.
  [[nodiscard]] bool reaches(const Operation& operation) { return do_reaches(operation); }
  /// Starts an operation: asynchronously on the host, or ordered by its stream. `operation` need not outlive the call;
  /// its buffers and layouts must.
  [[nodiscard]] std::unique_ptr<PendingOperation> start(const Operation& operation) { return do_start(operation); }
  /// Like start(), for one or more operations that run as if simultaneously. All have the same timeout, which limits
  /// the whole group.
  [[nodiscard]] std::unique_ptr<PendingOperation> start_group(std::span<const Operation> operations) {
    return do_start_group(operations);
  }
  /// Like start_group(), but returns when all operations are complete.
  void run_group(std::span<const Operation> operations);
  /// See Communicator::abort().
  void abort() noexcept { do_abort(); }
  /// Whether the library waits for ever for a rank that has died or does not come, so that the core has to watch the
  /// ranks and to call interrupt().
  [[nodiscard]] bool needs_watch() const noexcept { return do_needs_watch(); }
  /// Makes all operations of this rank fail with `cause` from now on, also one that a thread is waiting in. Returns
  /// when that thread has left the library; false if it cannot be made to leave. Called from any thread at any time
  /// before the destructor.
  bool interrupt(const Error& cause) noexcept { return do_interrupt(cause); }
  /// Called once before the destructor, while the ranks are still being watched: parts of the destruction that wait for
  /// other ranks. interrupt() ends the wait.
  void close() noexcept { do_close(); }
  /// The engine for named tensors, see tutti/spi/tensors/named_engine.hpp; null if the backend has none.
  [[nodiscard]] NamedEngine* engine() noexcept { return do_engine(); }

 protected:
  explicit BackendCommunicator(const Capabilities& capabilities) noexcept : capabilities_(capabilities) {}

 private:
  friend class Ownership;
  /// Throws the current exception again, with the ranks of the job if the communicator has others.
  [[noreturn, gnu::cold]] void rethrow(const Error& error) const;
  virtual BackendCommunicator& do_route(const Operation&) { return *this; }
  /// The communicator whose name follows this one's, or null.
  [[nodiscard]] virtual const BackendCommunicator* do_inner() const noexcept { return nullptr; }
  [[nodiscard]] virtual std::vector<std::string> do_settings() const {
    return do_inner() != nullptr ? do_inner()->settings() : std::vector<std::string>();
  }
  virtual void do_run(const Operation& operation) = 0;
  virtual bool do_may_reach(const Operation&) const { return false; }
  virtual bool do_reaches(const Operation&) { return false; }
  virtual std::unique_ptr<PendingOperation> do_start(const Operation& operation) = 0;
  /// By default starts the operations one after the other.
  virtual std::unique_ptr<PendingOperation> do_start_group(std::span<const Operation> operations);
  virtual void do_abort() noexcept = 0;
  [[nodiscard]] virtual bool do_needs_watch() const noexcept { return false; }
  virtual bool do_interrupt(const Error&) noexcept {
    do_abort();
    return true;
  }
  virtual void do_close() noexcept {}
  [[nodiscard]] virtual NamedEngine* do_engine() noexcept { return nullptr; }

  Capabilities capabilities_;
  const BackendModule* module_ = nullptr;
  std::string name_;
  std::string ranks_;  ///< the ranks of the job that are its ranks, for errors; empty if the numbers are the same
};

}  // namespace tutti::spi
