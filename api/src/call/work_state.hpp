#pragma once

#include <memory>
#include <optional>

#include "call/communicator_state.hpp"
#include "tutti/observer.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/work.hpp"

namespace tutti::detail {

/// Tells the observer, if there is one, that an operation has ended.
void report_completion(OperationId id, ErrorCode code) noexcept;

/// The party that brings an operation to its end.
enum class FinishedBy : std::uint8_t {
  caller,        ///< the thread that waits for it or asks whether it is ready
  communicator,  ///< the progress thread
  stream,        ///< its stream: nobody has to wait for it
};

/// An operation under way and the communicator it needs.
class WorkState {
 public:
  WorkState(std::shared_ptr<CommunicatorState> communicator, std::unique_ptr<spi::PendingOperation> pending,
            OperationId id, FinishedBy by) noexcept
      : communicator_(std::move(communicator)), pending_(std::move(pending)), id_(id), by_(by) {}
  ~WorkState();
  WorkState(const WorkState&) = delete;
  WorkState& operator=(const WorkState&) = delete;

  /// Progresses until complete or `until`; true when complete, well or not.
  [[nodiscard]] bool progress_until(spi::Deadline until) noexcept;
  [[nodiscard]] bool progress() noexcept;
  /// Whether somebody here has to bring it to its end before it goes.
  [[nodiscard]] bool is_awaited() const noexcept { return by_ != FinishedBy::stream; }
  [[nodiscard]] bool is_at_home() const noexcept { return communicator_->home.is_here(); }
  /// Leaves an operation to its stream; its end is reported all the same.
  static void leave(std::unique_ptr<WorkState> work);
  [[nodiscard]] const Error* error() const noexcept { return error_ ? &*error_ : nullptr; }

 private:
  /// Null: the backend is the caller's alone.
  [[nodiscard]] FairLock* shared_lock() const;
  template <typename Step>
  bool attempt(const Step& step) noexcept;

  // Order matters: the pending operation goes before the communicator it belongs to.
  std::shared_ptr<CommunicatorState> communicator_;
  std::unique_ptr<spi::PendingOperation> pending_;
  std::optional<Error> error_;
  OperationId id_;
  FinishedBy by_;
};

}  // namespace tutti::detail
