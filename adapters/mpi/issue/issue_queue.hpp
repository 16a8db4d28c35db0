#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tutti::adapters::mpi {

/// Non-blocking calls of one communicator, carried out one after another in the order of the calls by a thread of the
/// queue, which starts with the first.
class IssueQueue {
 public:
  IssueQueue() = default;
  IssueQueue(const IssueQueue&) = delete;
  IssueQueue& operator=(const IssueQueue&) = delete;
  /// Carries out all calls first.
  ~IssueQueue();

  /// Throws Error{system} if no thread can be started. `call` throws nothing.
  void add(std::function<void()> call);
  /// Waits until all calls have been carried out, and drives MPI meanwhile.
  void drain() noexcept;
  [[nodiscard]] bool is_busy() const noexcept;

 private:
  void serve() noexcept;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> calls_;  ///< the first is being carried out
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace tutti::adapters::mpi
