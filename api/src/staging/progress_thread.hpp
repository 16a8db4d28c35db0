#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "call/fair_lock.hpp"
#include "staging/staging_areas.hpp"
#include "staging/thread_job.hpp"
#include "tutti/error.hpp"
#include "tutti/observer.hpp"
#include "tutti/spi/backend.hpp"

namespace tutti {

namespace detail {
struct CommunicatorState;
}
class GroupJob;

/// A thread of a communicator that carries out operations in the order of the calls: staged operations of devices, and
/// asynchronous operations on host memory that are to go on without the caller.
///
/// Made by the first such operation. Used by the communicator's callers, whom the caller orders.
class ProgressThread {
 public:
  explicit ProgressThread(detail::CommunicatorState& state);
  /// Blocks until all operations are done.
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// Takes an operation of a leaf into the order of its stream, or of the calls where it has none; does not block. An
  /// operation that TUTTI_STRICT forbids is refused: at once where that is known, else when it is waited for and by the
  /// calls after it.
  [[nodiscard]] std::unique_ptr<spi::PendingOperation> start(spi::BackendCommunicator& leaf, const Operation& op,
                                                             OperationId id);
  /// Takes the memory that operations need which run as if at the same time.
  [[nodiscard]] std::unique_ptr<GroupJob> prepare_group(std::span<const Operation> ops);
  /// As start(), for the job that prepare_group() made of `ops`; `ids`: by operation, or empty.
  [[nodiscard]] std::unique_ptr<spi::PendingOperation> start_group(std::span<const Operation> ops,
                                                                   const std::vector<OperationId>& ids,
                                                                   std::unique_ptr<GroupJob> job);
  /// Whether nothing is pending.
  [[nodiscard]] bool is_idle();
  /// Whether operations are pending, but none whose messages could be mistaken for the caller's.
  [[nodiscard]] bool admits_messages();
  /// Blocks until nothing is pending: the backend is the caller's until the next start().
  void drain();

  /// To be held by a caller that uses the backend while operations are pending here.
  [[nodiscard]] FairLock& backend_lock() noexcept { return lock_; }

 private:
  struct Job;
  class Pending;

  template <typename Make>
  [[nodiscard]] std::unique_ptr<spi::PendingOperation> submit(std::span<const Operation> ops,
                                                              std::vector<OperationId> ids, const Make& make);
  void work();
  void carry_out(Job& job);
  void finish(Job& job, const std::optional<Error>& error);
  /// Frees what ended operations had of their devices; on the caller's thread, since a device may let a release wait
  /// for all its work, closed gates included.
  void release_retired();
  /// Lets the other ranks fail instead of waiting for this one's part, and later operations fail here.
  void give_up(const Error& error);
  void remember(const Error& error);

  detail::CommunicatorState& state_;
  StagingAreas areas_;
  FairLock lock_;  ///< of the backend: the caller's operations and those pending here may depend on each other
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;  ///< the first is being carried out
  std::vector<std::unique_ptr<ThreadJob>> retired_;
  std::optional<Error> failure_;  ///< of the first operation that failed
  bool is_closing_ = false;
  std::thread thread_;
};

}  // namespace tutti
