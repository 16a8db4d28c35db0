#include "tutti/work.hpp"

#include <algorithm>
#include <mutex>

#include "call/work_state.hpp"
#include "handled_error.hpp"
#include "tutti/spi/instrument.hpp"
#include "watch/failed_before.hpp"

namespace tutti {

namespace detail {

namespace {

/// How long one part of a group is waited for before the others are looked at.
constexpr std::chrono::microseconds kPartSlice{50};

}  // namespace

void report_completion(OperationId id, ErrorCode code) noexcept {
  if (id == 0) return;
  if (Observer* target = observer()) target->on(OpCompleted{id, code, observer_time_ns()});
}

void WorkState::drop(std::unique_ptr<WorkState> work) {
  WorkState& state = *work;
  state.do_drop(std::move(work));
}

/// While it lives, others see that this rank waits for the work.
class ShownWait {
 public:
  explicit ShownWait(WorkState& work) noexcept : work_(work) { work_.show_waiting(true); }
  ~ShownWait() { work_.show_waiting(false); }
  ShownWait(const ShownWait&) = delete;
  ShownWait& operator=(const ShownWait&) = delete;

 private:
  WorkState& work_;
};

FairLock* OperationWork::shared_lock() const {
  if (by_ != FinishedBy::caller || communicator_->progress == nullptr) return nullptr;
  return communicator_->progress->is_idle() ? nullptr : &communicator_->progress->backend_lock();
}

template <typename Step>
bool OperationWork::attempt(const Step& step) noexcept {
  // Null once the work was dropped and waits among the communicator's own.
  if (communicator_ != nullptr && !communicator_->process.is_home()) {
    error_ = used_in_child(communicator_->name);
    (void)pending_.release();  // the parent's
    return true;
  }
  const spi::OperationScope scope(id_);
  try {
    if (!step(*pending_)) return false;
  } catch (const Error& error) {
    error_ = communicator_ != nullptr ? communicator_->completed(error) : error;
  } catch (...) {
    // The other ranks would wait for the part of this one.
    if (communicator_ != nullptr) {
      error_ = handled_error(communicator_->name, communicator_->rank);
      communicator_->note_failure(*error_);
      failed_before::note(*communicator_, *error_);
      communicator_->backend->abort();
    } else {
      error_ = handled_error("an operation of a communicator that has ended");
    }
  }
  pending_.reset();
  end_pending();
  const ErrorCode code = error_ ? error_->code() : ErrorCode::ok;
  if (ids_.empty()) report_completion(id_, code);
  for (const OperationId id : ids_) report_completion(id, code);
  return true;
}

void OperationWork::end_pending() noexcept {
  if (!is_shown_ || communicator_ == nullptr || !communicator_->process.is_home()) return;
  is_shown_ = false;
  communicator_->call_progress->pending.fetch_sub(1, std::memory_order_relaxed);
}

void OperationWork::show_waiting(bool waits) noexcept {
  if (communicator_ == nullptr || !communicator_->process.is_home()) return;
  spi::CallProgress& progress = *communicator_->call_progress;
  (waits ? progress.waits : progress.waited).fetch_add(1, std::memory_order_release);
  if (!waits || id_ == 0 || pending_ == nullptr) return;
  if (Observer* target = observer()) target->on(WaitBegun{id_, observer_time_ns()});
}

bool OperationWork::progress_until(spi::Deadline until) noexcept {
  if (pending_ == nullptr) return true;
  const auto wait = [this](spi::Deadline end) {
    return attempt([end](spi::PendingOperation& pending) { return pending.wait(end); });
  };
  FairLock* const shared = shared_lock();
  return shared == nullptr ? wait(until) : in_slices(*shared, until, wait);
}

bool OperationWork::progress() noexcept {
  if (pending_ == nullptr) return true;
  const auto poll = [this] { return attempt([](spi::PendingOperation& pending) { return pending.poll(); }); };
  FairLock* const shared = shared_lock();
  if (shared == nullptr) return poll();
  // The other thread lets go of the lock for a moment only: a caller that does not wait may never find it free.
  const std::unique_lock lock(*shared, std::chrono::steady_clock::now() + 2 * kLockSlice);
  return lock && poll();
}

void OperationWork::do_drop(std::unique_ptr<WorkState> self) {
  if (!communicator_->process.is_home()) {
    (void)self.release();  // a child's copy: the operation is its parent's
  } else if (by_ != FinishedBy::stream) {
    if (pending_ == nullptr) return;
    const ShownWait shown(*this);
    (void)progress_until(spi::Deadline::max());
  } else if (id_ != 0 && !progress()) {
    // An observer wants to know its end. Not kept by the operation: it would keep itself.
    end_pending();
    const std::shared_ptr<CommunicatorState> communicator = std::move(communicator_);
    communicator->dropped_works.add(std::move(self));
  }
}

bool GroupWork::progress_until(spi::Deadline until) noexcept {
  while (true) {
    std::size_t pending = 0;
    for (const auto& part : parts_) pending += part->progress() ? 0 : 1;
    if (pending == 0) return true;
    for (const auto& part : parts_) {
      const spi::Deadline now = std::chrono::steady_clock::now();
      if (now >= until) return false;
      (void)part->progress_until(pending == 1 ? until : std::min(until, now + kPartSlice));
    }
  }
}

bool GroupWork::progress() noexcept {
  bool all = true;
  for (const auto& part : parts_) all = part->progress() && all;
  return all;
}

const Error* GroupWork::error() const noexcept {
  for (const auto& part : parts_) {
    if (const Error* error = part->error()) return error;
  }
  return nullptr;
}

void GroupWork::show_waiting(bool waits) noexcept {
  for (const auto& part : parts_) part->show_waiting(waits);
}

void GroupWork::do_drop(std::unique_ptr<WorkState> self) {
  // Together as long as one of them has to be waited for: the parts may depend on each other.
  if (std::ranges::any_of(parts_, [](const auto& part) { return part->needs_wait(); })) {
    const ShownWait shown(*this);
    (void)progress_until(spi::Deadline::max());
  }
  for (auto& part : parts_) drop(std::move(part));
  self.reset();
}

}  // namespace detail

Work::Work(std::unique_ptr<detail::WorkState> state) noexcept : state_(state.release()) {}

void Work::finish_pending() noexcept {
  detail::WorkState::drop(std::unique_ptr<detail::WorkState>(std::exchange(state_, nullptr)));
}

void Work::wait() {
  if (state_ == nullptr) return;
  const detail::ShownWait shown(*state_);
  while (!state_->progress_until(spi::Deadline::max())) {
  }
  if (const Error* error = state_->error()) throw Error(*error);
}

bool Work::wait_for(std::chrono::nanoseconds duration) {
  if (state_ == nullptr) return true;
  const detail::ShownWait shown(*state_);
  if (!state_->progress_until(std::chrono::steady_clock::now() + std::min(duration, kLongestTimeout))) return false;
  if (const Error* error = state_->error()) throw Error(*error);
  return true;
}

bool Work::ready() { return state_ == nullptr || state_->progress(); }

const Error* Work::error() const noexcept { return state_ == nullptr ? nullptr : state_->error(); }

}  // namespace tutti
