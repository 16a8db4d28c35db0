#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "machine.hpp"

namespace tutti::test::fake_cuda {

/// The end of a piece of work.
class Completion {
 public:
  void arrive(cudaError_t error);
  cudaError_t await();
  [[nodiscard]] bool has_come();
  /// Time of the end, by the fake's clock.
  [[nodiscard]] std::uint64_t time_ns();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool has_come_ = false;
  cudaError_t error_ = cudaSuccess;
  std::uint64_t time_ns_ = 0;
};
using CompletionPointer = std::shared_ptr<Completion>;

/// A thread that runs its tasks in order.
class StreamQueue : public std::enable_shared_from_this<StreamQueue> {
 public:
  using Body = std::function<cudaError_t()>;

  StreamQueue(int device, unsigned flags, int priority) : device_(device), flags_(flags), priority_(priority) {}

  [[nodiscard]] int device() const noexcept { return device_; }
  [[nodiscard]] int priority() const noexcept { return priority_; }
  /// Whether the legacy default stream and this stream wait for each other.
  [[nodiscard]] bool is_blocking() const noexcept { return (flags_ & cudaStreamNonBlocking) == 0; }

  [[nodiscard]] CompletionPointer tail();
  /// Enqueues work that also waits for `others`.
  [[nodiscard]] CompletionPointer push(Body body, std::vector<CompletionPointer> others);
  /// Lets the thread end after its last task.
  void close();

  std::atomic<bool> is_capturing = false;

 private:
  struct Task {
    Body body;
    std::vector<CompletionPointer> others;
    CompletionPointer end;
  };
  void work();

  int device_;
  unsigned flags_;
  int priority_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  CompletionPointer tail_;
  bool is_closed_ = false;
  bool has_thread_ = false;
};
using StreamPointer = std::shared_ptr<StreamQueue>;

struct Event {
  int device = 0;
  unsigned flags = 0;
  CompletionPointer record;  ///< null: never recorded
};
using EventPointer = std::shared_ptr<Event>;

/// All streams and events by their handles.
class StreamTable {
 public:
  static StreamTable& instance();

  [[nodiscard]] cudaStream_t create(int device, unsigned flags, int priority);
  [[nodiscard]] cudaError_t destroy(cudaStream_t handle);
  /// The stream of a handle, including the null, legacy and per-thread streams; a violation if there is none.
  [[nodiscard]] cudaError_t find(cudaStream_t handle, StreamPointer& stream);

  [[nodiscard]] cudaEvent_t create_event(int device, unsigned flags);
  [[nodiscard]] cudaError_t destroy_event(cudaEvent_t handle);
  [[nodiscard]] cudaError_t find_event(cudaEvent_t handle, EventPointer& event);

  /// Enqueues work, with the order that the default stream imposes.
  [[nodiscard]] cudaError_t enqueue(const StreamPointer& stream, StreamQueue::Body body,
                                    CompletionPointer* end = nullptr, CompletionPointer after = {});
  /// Blocks until a device is idle.
  cudaError_t await_idle(int device);

 private:
  [[nodiscard]] StreamPointer default_stream(int device);
  [[nodiscard]] StreamPointer thread_stream(int device);
  [[nodiscard]] std::vector<StreamPointer> all_of(int device);

  std::mutex mutex_;
  std::map<void*, StreamPointer> streams_;
  std::vector<std::weak_ptr<StreamQueue>> closing_;
  std::map<int, StreamPointer> legacy_;
  std::map<void*, EventPointer> events_;
  std::vector<std::shared_ptr<void>> graveyard_;  ///< destroyed objects, kept so that no handle is reused
};

/// Runs a host function on the one thread for all of them, as the driver does.
void run_host_function(const std::function<void()>& function);

[[nodiscard]] std::uint64_t clock_ns() noexcept;

/// Sleeps for a random time, so that a missing wait for the work is noticed.
void take_some_time();

}  // namespace tutti::test::fake_cuda
