#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "tensor_work.hpp"
#include "tutti/work.hpp"

namespace tutti::torch_adapter {

/// The messages of a process group, which all make progress at the same time: each rank may start its sends before its
/// receives. A thread of the lane drives them.
class MessageLane {
 public:
  MessageLane() = default;
  /// Waits for the messages that are under way.
  ~MessageLane();
  MessageLane(const MessageLane&) = delete;
  MessageLane& operator=(const MessageLane&) = delete;

  /// `start` starts the message without waiting for it; `end` is called once it has arrived. Exceptions of both become
  /// the error of `work`.
  void add(c10::intrusive_ptr<TensorWork> work, std::function<Work()> start, std::function<void()> end);
  /// Whether all messages have ended within `duration`.
  [[nodiscard]] bool drain(std::chrono::nanoseconds duration);

 private:
  struct Message {
    c10::intrusive_ptr<TensorWork> work;
    std::function<Work()> start;
    std::function<void()> end;
    Work pending;
  };
  void serve();
  static bool try_start(Message& message);
  static bool try_end(Message& message);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Message> fresh_;
  bool has_pending_ = false;
  bool is_ending_ = false;
  std::thread thread_;  // from the first message on
};

}  // namespace tutti::torch_adapter
