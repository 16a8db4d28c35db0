#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "call/communicator_state.hpp"
#include "tutti/observer.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/work.hpp"

namespace tutti::detail {

/// Tells the observer, if there is one, that an operation has ended.
void report_completion(OperationId id, ErrorCode code) noexcept;

/// The state behind a Work that may still be pending.
class WorkState {
 public:
  virtual ~WorkState() = default;
  WorkState(const WorkState&) = delete;
  WorkState& operator=(const WorkState&) = delete;

  /// Progresses until complete or `until`; true when complete, successfully or not.
  [[nodiscard]] virtual bool progress_until(spi::Deadline until) noexcept = 0;
  [[nodiscard]] virtual bool progress() noexcept = 0;
  [[nodiscard]] virtual const Error* error() const noexcept = 0;
  /// Shows that a caller waits for it, or no longer does.
  virtual void show_waiting(bool waits) noexcept = 0;
  /// For a Work that is dropped: waits for operations that somebody has to wait for, and leaves those to their streams
  /// that streams order.
  static void drop(std::unique_ptr<WorkState> work);

 protected:
  WorkState() = default;

 private:
  virtual void do_drop(std::unique_ptr<WorkState> self) = 0;
};

/// The party that brings an operation to its end.
enum class FinishedBy : std::uint8_t {
  caller,        ///< the thread that waits for it or asks whether it is ready
  communicator,  ///< the progress thread
  stream,        ///< its stream: nobody has to wait for it
};

/// One or more operations of a communicator that are pending together.
class OperationWork final : public WorkState {
 public:
  /// `id`: 0 where no observer is told of the end, or by somebody else.
  OperationWork(std::shared_ptr<CommunicatorState> communicator, std::unique_ptr<spi::PendingOperation> pending,
                OperationId id, FinishedBy by) noexcept
      : communicator_(std::move(communicator)), pending_(std::move(pending)), id_(id), by_(by) {
    communicator_->call_progress->pending.fetch_add(1, std::memory_order_relaxed);
  }
  ~OperationWork() override { end_pending(); }
  OperationWork(const OperationWork&) = delete;
  OperationWork& operator=(const OperationWork&) = delete;
  /// The same for a group; the records that it causes carry the first id.
  OperationWork(std::shared_ptr<CommunicatorState> communicator, std::unique_ptr<spi::PendingOperation> pending,
                std::vector<OperationId> ids, FinishedBy by) noexcept
      : OperationWork(std::move(communicator), std::move(pending), ids.empty() ? 0 : ids.front(), by) {
    ids_ = std::move(ids);
  }

  [[nodiscard]] bool progress_until(spi::Deadline until) noexcept override;
  [[nodiscard]] bool progress() noexcept override;
  [[nodiscard]] const Error* error() const noexcept override { return error_ ? &*error_ : nullptr; }
  void show_waiting(bool waits) noexcept override;
  /// Whether somebody in this process has to wait for its end.
  [[nodiscard]] bool needs_wait() const noexcept {
    return pending_ != nullptr && by_ != FinishedBy::stream && communicator_->process.is_home();
  }

 private:
  void do_drop(std::unique_ptr<WorkState> self) override;
  /// Null: the backend is the caller's alone.
  [[nodiscard]] FairLock* shared_lock() const;
  template <typename Step>
  bool attempt(const Step& step) noexcept;
  /// Shows that it is no longer pending, once.
  void end_pending() noexcept;

  // Order matters: the pending operation goes before the communicator it belongs to.
  std::shared_ptr<CommunicatorState> communicator_;
  std::unique_ptr<spi::PendingOperation> pending_;
  std::optional<Error> error_;
  OperationId id_;
  std::vector<OperationId> ids_;  ///< of a group, the first one included
  FinishedBy by_;
  bool is_shown_ = true;  ///< among CallProgress::pending
};

/// Operations of several communicators, which progress together: the ranks of one group may be among them.
class GroupWork final : public WorkState {
 public:
  explicit GroupWork(std::vector<std::unique_ptr<OperationWork>> parts) noexcept : parts_(std::move(parts)) {}

  [[nodiscard]] bool progress_until(spi::Deadline until) noexcept override;
  [[nodiscard]] bool progress() noexcept override;
  [[nodiscard]] const Error* error() const noexcept override;
  void show_waiting(bool waits) noexcept override;

 private:
  void do_drop(std::unique_ptr<WorkState> self) override;

  std::vector<std::unique_ptr<OperationWork>> parts_;
};

}  // namespace tutti::detail
