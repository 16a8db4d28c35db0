#include "tutti/work.hpp"

#include <algorithm>
#include <mutex>

#include "tutti/spi/instrument.hpp"
#include "work_state.hpp"

namespace tutti {

namespace detail {

void report_completion(OperationId id, ErrorCode code) noexcept {
  if (id == 0) return;
  if (Observer* target = observer()) target->on(OpCompleted{id, code, observer_time_ns()});
}

template <typename Step>
bool WorkState::attempt(spi::Deadline until, const Step& step) noexcept {
  if (pending_ == nullptr) return true;
  // The backend serves one thread at a time; while it is the staging's, that one makes the progress.
  std::unique_lock<Turn> turn;
  if (by_ == Progress::caller && communicator_->staging != nullptr) {
    turn = std::unique_lock(communicator_->staging->backend_turn(), std::defer_lock);
    if (until == spi::Deadline::max())
      turn.lock();
    else if (!turn.try_lock_until(until))
      return false;
  }
  const spi::OperationScope scope(id_);
  try {
    if (!step(*pending_)) return false;
  } catch (const Error& error) {
    error_ = error;
  } catch (const std::exception& error) {
    error_.emplace(ErrorCode::backend_failure, error.what());
  }
  pending_.reset();
  report_completion(id_, error_ ? error_->code() : ErrorCode::ok);
  return true;
}

bool WorkState::progress_until(spi::Deadline until) noexcept {
  return attempt(until, [until](spi::PendingOperation& pending) { return pending.wait(until); });
}

bool WorkState::progress() noexcept {
  return attempt(std::chrono::steady_clock::now(), [](spi::PendingOperation& pending) { return pending.poll(); });
}

void WorkState::leave(std::unique_ptr<WorkState> work) {
  if (work->id_ == 0 || work->progress()) return;  // nobody wants to know, or knows
  // Not kept by the operation: it would keep itself.
  const std::shared_ptr<CommunicatorState> communicator = std::move(work->communicator_);
  communicator->unattended.add(std::move(work));
}

WorkState::~WorkState() = default;

}  // namespace detail

Work::Work(std::unique_ptr<detail::WorkState> state) noexcept : state_(state.release()) {}

void Work::finish_pending() noexcept {
  std::unique_ptr<detail::WorkState> state(std::exchange(state_, nullptr));
  if (state->by() == detail::Progress::stream)
    detail::WorkState::leave(std::move(state));
  else
    (void)state->progress_until(spi::Deadline::max());
}

void Work::wait() {
  if (state_ == nullptr) return;
  while (!state_->progress_until(spi::Deadline::max())) {
  }
  if (const Error* error = state_->error()) throw Error(*error);
}

bool Work::wait_for(std::chrono::nanoseconds duration) {
  if (state_ == nullptr) return true;
  if (!state_->progress_until(std::chrono::steady_clock::now() + std::min(duration, kLongestTimeout))) return false;
  if (const Error* error = state_->error()) throw Error(*error);
  return true;
}

bool Work::ready() { return state_ == nullptr || state_->progress(); }

const Error* Work::error() const noexcept { return state_ == nullptr ? nullptr : state_->error(); }

}  // namespace tutti
