#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "tensor_work.hpp"

namespace tutti::torch_adapter {

/// The collectives of a process group, carried out one after another in the order of the calls: by a thread of the
/// queue, so that they go on while the program computes, or by a thread that waits for one of them, which saves two
/// switches between threads.
class CallQueue {
 public:
  CallQueue();
  /// The queue must be empty or its calls about to fail: waits for the running call and completes the others with an
  /// error.
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  /// `body` carries out the call; its exception becomes the error of `work`.
  void add(c10::intrusive_ptr<TensorWork> work, std::function<void()> body);
  /// Carries out calls in this thread up to `last`, as long as no other thread carries out one.
  void help(TensorWork& last);
  /// Whether all calls have ended within `duration`.
  [[nodiscard]] bool drain(std::chrono::nanoseconds duration);

 private:
  struct Call {
    c10::intrusive_ptr<TensorWork> work;
    std::function<void()> body;
  };
  void serve();
  void carry_out_first(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call> calls_;
  bool is_running_ = false;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace tutti::torch_adapter
