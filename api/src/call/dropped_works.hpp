#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace tutti::detail {

class WorkState;

/// Operations of a communicator on streams whose Work was dropped before they ended. Nobody waits for them, but whoever
/// observes is told of their end: by the next call that looks, at the latest before the communicator goes. Thread-safe.
class DroppedWorks {
 public:
  DroppedWorks() noexcept;
  /// Waits for all.
  ~DroppedWorks();
  DroppedWorks(const DroppedWorks&) = delete;
  DroppedWorks& operator=(const DroppedWorks&) = delete;

  void add(std::unique_ptr<WorkState> work);
  /// Waits for all and reports their ends.
  void finish() noexcept;
  /// Reports those that have ended.
  void look();
  /// Leaves them all as they are, for ever: they are another process's.
  void forget() noexcept;

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<WorkState>> works_;  ///< in the order they were dropped in
};

}  // namespace tutti::detail
