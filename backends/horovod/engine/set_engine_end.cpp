// The end of an engine: failures, shutdown, and the tensors that are in flight then.
#include <utility>

#include "engine/set_engine.hpp"

namespace tutti::horovod {

Error shutdown_error() {
  return Error(ErrorCode::aborted,
               "Horovod has been shut down. This was caused by an exception on one of the ranks or an attempt to "
               "allreduce, allgather or broadcast a tensor after one of the ranks finished execution.",
               "horovod");
}

/// The inner backend may notice first that another rank has left or ended the engine; that rank has told why.
Error SetEngine::reason_of(Error failure) {
  const bool is_by_other = failure.code() == ErrorCode::peer_failure || failure.code() == ErrorCode::aborted;
  if (!is_by_other) return failure;
  if (const auto stalled = stalls_.announced_end()) return {ErrorCode::timeout, *stalled, "horovod"};
  const bool has_left = failure.code() == ErrorCode::aborted ? departure_.is_shutdown() : departure_.is_announced();
  if (has_left) return shutdown_error();
  return failure;
}

/// By the driver, after a failure: ends all tensors with its error.
void SetEngine::end_all(Lock& lock) {
  const Error error = *failure_;
  lock.unlock();
  // Before the aborts, so that ranks that see one of them find the reason.
  const bool shuts_down = stops_;
  if (shuts_down) departure_.announce(rounds_, Departure::Reason::shutdown);
  if (exchange_.is_busy()) control_->abort();
  exchange_.drop();
  std::vector<EntryPointer> entries;
  if (executor_.is_busy()) {
    data_->abort();
    executor_.drop();
    executor_.leave();
  }
  entries = schedule_.clear();
  is_performing_ = false;
  hits_.clear();
  if (!shuts_down) departure_.announce(rounds_, Departure::Reason::failure);
  lock.lock();
  for (EntryPointer& entry : queue_.take_all()) entries.push_back(std::move(entry));
  lock.unlock();
  complete(std::move(entries), &error);
  lock.lock();
}

void SetEngine::fail(const Error& error) noexcept {
  Lock lock(mutex_);
  if (!failure_) failure_ = error;
  lock.unlock();
  control_->abort();
  data_->abort();
  lock.lock();
  if (is_resting_) tensors_came_.notify_all();
  if (!is_driven_) drive(lock, nullptr, spi::Deadline::max());
}

bool SetEngine::interrupt(const Error& cause) noexcept {
  Lock lock(mutex_);
  if (!failure_) failure_ = cause;
  lock.unlock();
  const bool control = control_->interrupt(cause);
  const bool data = data_->interrupt(cause);
  lock.lock();
  if (is_resting_) tensors_came_.notify_all();
  if (!is_driven_) drive(lock, nullptr, spi::Deadline::max());
  return control && data;
}

void SetEngine::shutdown() noexcept {
  std::thread ended;
  {
    Lock lock(mutex_);
    stops_ = true;
    tensors_came_.notify_all();
    thread_wakes_.notify_all();
    while (is_driven_) {
      ++waiters_;
      driver_left_.wait(lock);
      --waiters_;
    }
    ended = std::move(thread_);
    if (tuner_ != nullptr) tuner_->finish(Clock::now());
    if (!failure_) {
      failure_ = shutdown_error();
      if (has_work()) {
        drive(lock, nullptr, spi::Deadline::max());
      } else {
        lock.unlock();
        departure_.announce(rounds_, Departure::Reason::shutdown);
      }
    }
  }
  if (ended.joinable()) ended.join();
}

void SetEngine::close() noexcept {
  shutdown();
  control_->close();
  data_->close();
}

}  // namespace tutti::horovod
