#include "tutti/work.hpp"

#include <algorithm>
#include <mutex>

#include "call/work_state.hpp"
#include "tutti/spi/instrument.hpp"

namespace tutti {

namespace detail {

void report_completion(OperationId id, ErrorCode code) noexcept {
  if (id == 0) return;
  if (Observer* target = observer()) target->on(OpCompleted{id, code, observer_time_ns()});
}

FairLock* WorkState::shared_lock() const {
  if (by_ != FinishedBy::caller || communicator_->progress == nullptr) return nullptr;
  return communicator_->progress->is_idle() ? nullptr : &communicator_->progress->backend_lock();
}

template <typename Step>
bool WorkState::attempt(const Step& step) noexcept {
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
  if (pending_ == nullptr) return true;
  const auto wait = [this](spi::Deadline end) {
    return attempt([end](spi::PendingOperation& pending) { return pending.wait(end); });
  };
  FairLock* const shared = shared_lock();
  return shared == nullptr ? wait(until) : in_slices(*shared, until, wait);
}

bool WorkState::progress() noexcept {
  if (pending_ == nullptr) return true;
  const auto poll = [this] { return attempt([](spi::PendingOperation& pending) { return pending.poll(); }); };
  FairLock* const shared = shared_lock();
  if (shared == nullptr) return poll();
  // The other thread lets go of it for a moment only: who does not wait for that may never see it free.
  const std::unique_lock lock(*shared, std::chrono::steady_clock::now() + 2 * kLockSlice);
  return lock && poll();
}

void WorkState::leave(std::unique_ptr<WorkState> work) {
  if (work->id_ == 0 || work->progress()) return;  // nobody wants to know, or knows
  // Not kept by the operation: it would keep itself.
  const std::shared_ptr<CommunicatorState> communicator = std::move(work->communicator_);
  communicator->dropped_works.add(std::move(work));
}

WorkState::~WorkState() = default;

}  // namespace detail

Work::Work(std::unique_ptr<detail::WorkState> state) noexcept : state_(state.release()) {}

void Work::finish_pending() noexcept {
  std::unique_ptr<detail::WorkState> state(std::exchange(state_, nullptr));
  if (!state->is_at_home()) {
    (void)state.release();  // a child's copy: what it stands for is its parent's
  } else if (state->is_awaited()) {
    (void)state->progress_until(spi::Deadline::max());
  } else {
    detail::WorkState::leave(std::move(state));
  }
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
