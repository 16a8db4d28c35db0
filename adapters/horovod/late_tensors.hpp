#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "horovod/common/common.h"

namespace tutti::horovod_adapter {

/// Tensors that are submitted together.
struct Submission {
  std::vector<::horovod::common::ReadyEventList> events;
  std::vector<std::string> names;
  std::function<::horovod::common::Status()> submit;
  /// Get the status of a submission that failed late.
  std::vector<::horovod::common::StatusCallback> callbacks;

  [[nodiscard]] bool is_ready() const;
};

/// Tensors whose data is not computed yet. A thread asks their events and submits them. Thread-safe.
class LateTensors {
 public:
  static LateTensors& instance();

  void open();
  /// Submits now what is ready, keeps the rest. Returns the status of the submission, or an error for a name that
  /// waits.
  [[nodiscard]] ::horovod::common::Status add(Submission submission);
  /// Ends the tensors that wait with the shutdown error, and the thread.
  void close();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  std::list<Submission> waiting_;
  std::thread thread_;
};

}  // namespace tutti::horovod_adapter
