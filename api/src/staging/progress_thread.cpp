#include "staging/progress_thread.hpp"

#include <algorithm>
#include <utility>

#include "call/agreement.hpp"
#include "call/communicator_state.hpp"
#include "call/emulation.hpp"
#include "call/validation.hpp"
#include "call/work_state.hpp"
#include "tutti/spi/instrument.hpp"
#include "tutti/spi/thread.hpp"

namespace tutti {

struct ProgressThread::Job {
  Operation op;
  OperationId id = 0;
  std::unique_ptr<StagedOperation> staged;  ///< null: on host memory

  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  std::optional<Error> error;
};

/// The caller's view of a job; may be destroyed before the job ends.
class ProgressThread::Pending final : public spi::PendingOperation {
 public:
  Pending(ProgressThread& thread, std::shared_ptr<Job> job) noexcept : thread_(thread), job_(std::move(job)) {}

 private:
  bool do_poll() override { return do_wait(std::chrono::steady_clock::now()); }
  bool do_wait(spi::Deadline until) override {
    std::unique_lock lock(job_->mutex);
    const auto is_done = [this] { return job_->is_done; };
    if (until == spi::Deadline::max()) {
      job_->changed.wait(lock, is_done);
    } else if (!job_->changed.wait_until(lock, until, is_done)) {
      return false;
    }
    lock.unlock();
    thread_.release_retired();
    if (!job_->error) return true;
    // Not a copy: copies of an exception share their text, and this one leaves the thread.
    const Error& error = *job_->error;
    throw Error(error.code(), error.what(), error.backend(), error.vendor_code());
  }

  ProgressThread& thread_;
  std::shared_ptr<Job> job_;
};

ProgressThread::ProgressThread(detail::CommunicatorState& state)
    : state_(state), backend_(*state.backend), thread_(spi::start_thread("tutti-progress", [this] { work(); })) {}

ProgressThread::~ProgressThread() {
  {
    const std::scoped_lock lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::unique_ptr<spi::PendingOperation> ProgressThread::start(const Operation& op, OperationId id) {
  release_retired();
  {
    const std::scoped_lock lock(mutex_);
    if (failure_) {
      throw Error(failure_->code(), context(state_, op) + ": an earlier operation failed: " + failure_->what(),
                  failure_->backend(), failure_->vendor_code());
    }
  }
  auto job = std::make_shared<Job>();
  job->op = op;
  job->id = id;
  try {
    if (!op.stream.is_host() || op.where.kind != MemoryKind::host) {
      job->staged = std::make_unique<StagedOperation>(state_, areas_, op);
    }
  } catch (const Error& error) {
    give_up(error);
    throw;
  }
  {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back(job);
  }
  changed_.notify_all();
  return std::make_unique<Pending>(*this, std::move(job));
}

bool ProgressThread::is_idle() {
  const std::scoped_lock lock(mutex_);
  return jobs_.empty();
}

bool ProgressThread::admits_messages() {
  const spi::Capabilities& has = state_.backend->capabilities();
  const std::scoped_lock lock(mutex_);
  return !jobs_.empty() && std::ranges::none_of(jobs_, [&](const std::shared_ptr<Job>& job) {
    return Emulator::exchanges_messages(job->op, has);
  });
}

void ProgressThread::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return jobs_.empty(); });
  lock.unlock();
  release_retired();
}

void ProgressThread::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_closing_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::shared_ptr<Job> job = jobs_.front();
    lock.unlock();
    carry_out(*job);
    lock.lock();
    jobs_.pop_front();
    changed_.notify_all();
  }
}

void ProgressThread::carry_out(Job& job) {
  const spi::OperationScope scope(job.id);
  std::optional<Error> error;
  try {
    if (job.staged != nullptr) job.staged->wait_ready();
    if (state_.is(detail::CommunicatorState::kCheck)) check_agreement(state_, backend_, job.op);
    if (job.staged != nullptr) {
      job.staged->run(backend_);
    } else {
      Emulator(backend_, state_.rank, state_.size).run(job.op);
    }
  } catch (const Error& failure) {
    error = failure;
  } catch (const std::exception& failure) {
    error.emplace(ErrorCode::system, context(state_, job.op) + ": " + failure.what());
  }
  finish(job, error);
}

void ProgressThread::finish(Job& job, const std::optional<Error>& error) {
  if (error) {
    give_up(*error);
    if (job.staged != nullptr) {
      job.staged->settle();
      // A caller that does not wait for it would take what the stream brings for a result.
      if (job.staged->was_refused()) remember(*error);
    }
  }
  if (job.staged != nullptr) {
    // Also after a failure: a stream that waits for ever would take the application with it.
    job.staged->open_gate();
    const std::scoped_lock lock(mutex_);
    retired_.push_back(std::move(job.staged));
  }
  detail::report_completion(job.id, error ? error->code() : ErrorCode::ok);
  const std::scoped_lock lock(job.mutex);
  job.error = error;
  job.is_done = true;
  job.changed.notify_all();
}

void ProgressThread::release_retired() {
  std::vector<std::unique_ptr<StagedOperation>> retired;
  const std::scoped_lock lock(mutex_);
  retired.swap(retired_);
}

void ProgressThread::give_up(const Error& error) {
  if (!spi::ends_communicator(error.code())) return;
  state_.backend->abort();
  remember(error);
}

void ProgressThread::remember(const Error& error) {
  const std::scoped_lock lock(mutex_);
  if (!failure_) failure_ = error;
}

}  // namespace tutti
