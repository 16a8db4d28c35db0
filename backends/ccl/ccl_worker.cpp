#include "ccl_worker.hpp"

#include <utility>

#include "tutti/spi/instrument.hpp"
#include "tutti/spi/thread.hpp"

namespace tutti::ccl {

Worker::Worker()
    : shared_(std::make_shared<Shared>()),
      thread_(spi::start_thread("tutti-ccl", [shared = shared_] { serve(shared); })) {}

Worker::~Worker() {
  bool idle = false;
  {
    const std::lock_guard lock(shared_->mutex);
    idle = is_idle();
    shared_->stop = true;
    shared_->queue.clear();
    shared_->changed.notify_all();
  }
  if (idle) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

bool Worker::is_idle() const noexcept { return shared_->unfinished.load(std::memory_order_acquire) == 0; }

std::shared_ptr<Worker::Task> Worker::submit(Work work) {
  auto task = std::make_shared<Task>();
  task->work_ = std::move(work);
  task->cause_ = spi::current_operation();
  const std::lock_guard lock(shared_->mutex);
  shared_->queue.push_back(task);
  shared_->unfinished.fetch_add(1, std::memory_order_relaxed);
  shared_->changed.notify_all();
  return task;
}

bool Worker::wait(const Task& task, Clock::time_point until) {
  std::unique_lock lock(shared_->mutex);
  const auto done = [&] { return task.is_done(); };
  if (until == Clock::time_point::max()) {
    shared_->changed.wait(lock, done);
    return true;
  }
  return shared_->changed.wait_until(lock, until, done);
}

void Worker::serve(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->changed.wait(lock, [&] { return shared->stop || !shared->queue.empty(); });
    if (shared->stop) return;
    const std::shared_ptr<Task> task = std::move(shared->queue.front());
    shared->queue.pop_front();
    lock.unlock();
    try {
      const spi::OperationScope scope(task->cause_);
      task->work_();
    } catch (...) {
      task->error_ = std::current_exception();
    }
    task->work_ = nullptr;
    lock.lock();
    task->done_.store(true, std::memory_order_release);
    // Release: a thread that finds the worker idle makes the next call itself, after the effects of this one.
    shared->unfinished.fetch_sub(1, std::memory_order_release);
    shared->changed.notify_all();
  }
}

}  // namespace tutti::ccl
