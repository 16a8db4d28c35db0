#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "result.hpp"
#include "tutti/horovod.hpp"

namespace tutti::horovod_adapter {

/// The engine of this process between horovod_init() and horovod_shutdown(). Thread-safe.
class Job {
 public:
  /// Never destroyed: Python shuts down while the process exits.
  static Job& instance();

  /// The engine for the time of a call; null if there is none, or if it is about to begin or to end. A call that comes
  /// from a callback of the engine must not wait for shutdown(), which waits for the callback.
  class Use {
   public:
    explicit Use(Job& job);
    [[nodiscard]] const horovod::Engine* engine() const noexcept { return engine_ ? &*engine_ : nullptr; }

   private:
    std::shared_lock<std::shared_mutex> lock_;
    std::optional<horovod::Engine> engine_;  // a copy goes before the lock does
  };

  /// Collective. `ranks`: members of the group of this rank; none: all. Throws Error.
  void begin(std::span<const int> ranks, std::span<const std::vector<int>> process_sets);
  void end();

  [[nodiscard]] bool is_ending() const noexcept { return is_ending_; }
  /// Settings when begin() was called.
  [[nodiscard]] bool has_dynamic_sets() const noexcept { return has_dynamic_sets_; }
  [[nodiscard]] bool has_timeline() const noexcept { return has_timeline_; }

  /// Keeps a result until it has been read. It holds the engine, which must not end in a thread of its own.
  void keep(std::shared_ptr<Result> result);

 private:
  std::shared_mutex mutex_;
  std::optional<horovod::Engine> engine_;
  std::atomic<bool> is_ending_ = false;
  std::atomic<bool> has_dynamic_sets_ = false;
  std::atomic<bool> has_timeline_ = false;
  std::mutex results_mutex_;
  std::vector<std::shared_ptr<Result>> results_;
};

/// The number of the process set with these ranks; -1: there is none.
[[nodiscard]] int find_process_set(const horovod::Engine& engine, std::vector<int> ranks);

}  // namespace tutti::horovod_adapter
