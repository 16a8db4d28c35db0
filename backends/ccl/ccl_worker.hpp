#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "tutti/observer.hpp"

namespace tutti::ccl {

/// A thread that carries out calls one after the other. oneCCL's calls block (over its OFI transport the builds for
/// SYCL finish every operation before they return), so asynchronous operations and those with a deadline need such a
/// thread.
class Worker {
 public:
  using Work = std::function<void()>;
  using Clock = std::chrono::steady_clock;

  /// Submitted work and its outcome.
  class Task {
   public:
    [[nodiscard]] bool is_done() const noexcept { return done_.load(std::memory_order_acquire); }
    /// Rethrows the exception of the work, if any. Call only when is_done().
    void get() const {
      if (error_) std::rethrow_exception(error_);
    }

   private:
    friend class Worker;
    Work work_;
    OperationId cause_ = 0;
    std::exception_ptr error_;
    std::atomic<bool> done_ = false;
  };

  Worker();
  /// Drops work that has not begun. A running call cannot be stopped: its thread is left behind, so the work must own
  /// everything that it uses.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Queues the work. Its calls are reported as part of the operation that the calling thread is carrying out.
  [[nodiscard]] std::shared_ptr<Task> submit(Work work);
  /// Waits until the task is done (true) or `until` has passed (false).
  [[nodiscard]] bool wait(const Task& task, Clock::time_point until);
  /// Whether all submitted work is done; the caller may then make calls itself.
  [[nodiscard]] bool is_idle() const noexcept;

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::shared_ptr<Task>> queue;
    std::atomic<std::uint64_t> unfinished = 0;
    bool stop = false;
  };
  static void serve(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace tutti::ccl
