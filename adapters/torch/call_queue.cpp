#include "call_queue.hpp"

#include <exception>
#include <utility>

#include "tutti/error.hpp"

namespace tutti::torch_adapter {

CallQueue::CallQueue() : thread_([this] { serve(); }) {}

CallQueue::~CallQueue() {
  {
    const std::scoped_lock lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
  for (const Call& call : calls_) {
    call.work->complete(
        std::make_exception_ptr(Error(ErrorCode::aborted, "the process group was destroyed before this call began")));
  }
}

void CallQueue::add(c10::intrusive_ptr<TensorWork> work, std::function<void()> body) {
  {
    const std::scoped_lock lock(mutex_);
    calls_.push_back({std::move(work), std::move(body)});
  }
  changed_.notify_all();
}

void CallQueue::help(TensorWork& last) {
  std::unique_lock lock(mutex_);
  while (!is_running_ && !calls_.empty() && !last.isCompleted()) carry_out_first(lock);
}

bool CallQueue::drain(std::chrono::nanoseconds duration) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, duration, [this] { return calls_.empty() && !is_running_; });
}

void CallQueue::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || (!calls_.empty() && !is_running_); });
    if (is_ending_) return;
    carry_out_first(lock);
  }
}

void CallQueue::carry_out_first(std::unique_lock<std::mutex>& lock) {
  Call call = std::move(calls_.front());
  calls_.pop_front();
  is_running_ = true;
  lock.unlock();
  std::exception_ptr error;
  try {
    call.body();
  } catch (...) {
    error = std::current_exception();
  }
  call.body = nullptr;  // its tensors end before a waiting thread goes on
  lock.lock();
  is_running_ = false;
  lock.unlock();
  changed_.notify_all();
  // A callback of the future may start another call and wait for it: this thread can carry that out.
  call.work->complete(error);
  lock.lock();
}

}  // namespace tutti::torch_adapter
