#include "staging/progress_thread.hpp"

#include <algorithm>
#include <utility>

#include "call/communicator_state.hpp"
#include "call/emulation/emulation.hpp"
#include "call/left_behind.hpp"
#include "call/shared_backend.hpp"
#include "call/work_state.hpp"
#include "check/agreement.hpp"
#include "check/validation.hpp"
#include "staging/group_job.hpp"
#include "staging/host_operation.hpp"
#include "staging/staged_operation.hpp"
#include "tutti/spi/instrument.hpp"
#include "tutti/spi/thread.hpp"

namespace tutti {

struct ProgressThread::Job {
  std::vector<Operation> ops;
  std::vector<OperationId> ids;  ///< empty: nobody observed the start
  std::unique_ptr<ThreadJob> work;

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
    : state_(state), thread_(spi::start_thread("tutti-progress", [this] { work(); })) {}

ProgressThread::~ProgressThread() {
  {
    const std::scoped_lock lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

template <typename Make>
std::unique_ptr<spi::PendingOperation> ProgressThread::submit(std::span<const Operation> ops,
                                                              std::vector<OperationId> ids, const Make& make) {
  release_retired();
  {
    const std::scoped_lock lock(mutex_);
    if (failure_) {
      throw Error(failure_->code(), context(state_, ops.front()) + ": an earlier operation failed: " + failure_->what(),
                  failure_->backend(), failure_->vendor_code());
    }
  }
  auto job = std::make_shared<Job>();
  job->ops.assign(ops.begin(), ops.end());
  job->ids = std::move(ids);
  try {
    job->work = make();
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

std::unique_ptr<spi::PendingOperation> ProgressThread::start(spi::BackendCommunicator& leaf, const Operation& op,
                                                             OperationId id) {
  std::vector<OperationId> ids;
  if (id != 0) ids.push_back(id);
  return submit({&op, 1}, std::move(ids), [&]() -> std::unique_ptr<ThreadJob> {
    const bool on_host = op.stream.is_host() && op.where.kind == MemoryKind::host;
    if (on_host) return std::make_unique<HostOperation>(state_, leaf, op);
    return std::make_unique<StagedOperation>(state_, leaf, areas_, op);
  });
}

std::unique_ptr<GroupJob> ProgressThread::prepare_group(std::span<const Operation> ops) {
  try {
    return std::make_unique<GroupJob>(state_, areas_, ops);
  } catch (const Error& error) {
    give_up(error);
    throw;
  }
}

std::unique_ptr<spi::PendingOperation> ProgressThread::start_group(std::span<const Operation> ops,
                                                                   const std::vector<OperationId>& ids,
                                                                   std::unique_ptr<GroupJob> job) {
  return submit(ops, ids, [&] {
    job->enter_streams();
    return std::move(job);
  });
}

bool ProgressThread::is_idle() {
  const std::scoped_lock lock(mutex_);
  return jobs_.empty();
}

bool ProgressThread::admits_messages() {
  const std::scoped_lock lock(mutex_);
  return !jobs_.empty() && std::ranges::none_of(jobs_, [](const std::shared_ptr<Job>& job) {
    return job->work != nullptr && job->work->exchanges_messages();
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
  const spi::OperationScope scope(job.ids.empty() ? 0 : job.ids.front());
  std::optional<Error> error;
  try {
    job.work->wait_ready();
    if (state_.is(detail::CommunicatorState::kCheck)) {
      SharedBackend exchange(agreement_leaf(state_), lock_);
      for (const Operation& op : job.ops) check_agreement(state_, exchange, op);
    }
    job.work->run(lock_);
  } catch (const Error& failure) {
    error = failure;
  } catch (const std::exception& failure) {
    error.emplace(ErrorCode::system, context(state_, job.ops.front()) + ": " + failure.what());
  }
  finish(job, error);
}

void ProgressThread::finish(Job& job, const std::optional<Error>& error) {
  if (error) {
    give_up(*error);
    job.work->settle();
    // A caller that does not wait for it would take the contents of the buffers for a result.
    if (job.work->was_refused()) remember(*error);
  }
  // Also after a failure: a stream that waits for ever would take the application with it.
  job.work->open_gates();
  if (error && spi::ends_communicator(error->code()) && state_.backend->needs_watch()) {
    leave_behind(std::shared_ptr<ThreadJob>(std::move(job.work)));  // the library may still write to its memory
  } else {
    const std::scoped_lock lock(mutex_);
    retired_.push_back(std::move(job.work));
  }
  for (const OperationId id : job.ids) detail::report_completion(id, error ? error->code() : ErrorCode::ok);
  const std::scoped_lock lock(job.mutex);
  job.error = error;
  job.is_done = true;
  job.changed.notify_all();
}

void ProgressThread::release_retired() {
  std::vector<std::unique_ptr<ThreadJob>> retired;
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
