#include "message_lane.hpp"

#include <exception>
#include <iterator>
#include <utility>

namespace tutti::torch_adapter {
namespace {

/// Longest wait for one message before the lane looks for new ones.
constexpr auto kSlice = std::chrono::microseconds(100);

}  // namespace

MessageLane::~MessageLane() {
  {
    const std::scoped_lock lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void MessageLane::add(c10::intrusive_ptr<TensorWork> work, std::function<Work()> start, std::function<void()> end) {
  {
    const std::scoped_lock lock(mutex_);
    fresh_.push_back({std::move(work), std::move(start), std::move(end), {}});
    if (!thread_.joinable()) thread_ = std::thread([this] { serve(); });
  }
  changed_.notify_all();
}

bool MessageLane::drain(std::chrono::nanoseconds duration) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, duration, [this] { return fresh_.empty() && !has_pending_; });
}

void MessageLane::serve() {
  std::vector<Message> pending;
  for (;;) {
    std::vector<Message> fresh;
    {
      std::unique_lock lock(mutex_);
      has_pending_ = !pending.empty();
      if (pending.empty()) {
        changed_.notify_all();
        changed_.wait(lock, [this] { return is_ending_ || !fresh_.empty(); });
        if (fresh_.empty()) return;
      }
      std::swap(fresh, fresh_);
      has_pending_ = true;
    }
    for (Message& message : fresh) {
      if (try_start(message)) pending.push_back(std::move(message));
    }
    if (pending.empty()) continue;
    try {
      (void)pending.front().pending.wait_for(kSlice);
    } catch (...) {  // NOLINT: try_end() gets the same error
    }
    std::erase_if(pending, try_end);
  }
}

bool MessageLane::try_start(Message& message) {
  try {
    message.pending = message.start();
    return true;
  } catch (...) {
    message.work->complete(std::current_exception());
    return false;
  }
}

bool MessageLane::try_end(Message& message) {
  std::exception_ptr error;
  try {
    if (!message.pending.ready()) return false;
    message.pending.wait();
    message.end();
  } catch (...) {
    error = std::current_exception();
  }
  message.work->complete(error);
  return true;
}

}  // namespace tutti::torch_adapter
