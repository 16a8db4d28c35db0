#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "tutti/horovod.hpp"

namespace tutti::horovod_adapter {

/// Handle of a tensor between the thread that submits it and the callback that reads its result: the callback may come
/// first. Thread-safe.
class Result {
 public:
  void set(horovod::Handle handle) {
    {
      const std::scoped_lock lock(mutex_);
      if (state_ == State::expected) {
        handle_ = std::move(handle);
        state_ = State::set;
      }
    }
    changed_.notify_all();
  }

  /// Calls `read(handle)` once the handle is there; false if it was released before.
  template <typename Read>
  [[nodiscard]] bool take(const Read& read) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return state_ != State::expected; });
    if (state_ == State::released) return false;
    read(std::as_const(*handle_));
    state_ = State::taken;
    return true;
  }

  /// Drops the handle.
  void release() {
    {
      const std::scoped_lock lock(mutex_);
      state_ = State::released;
      handle_.reset();
    }
    changed_.notify_all();
  }

  [[nodiscard]] bool is_over() const {
    const std::scoped_lock lock(mutex_);
    return state_ == State::taken || state_ == State::released;
  }

 private:
  enum class State : unsigned char { expected, set, taken, released };

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::expected;
  std::optional<horovod::Handle> handle_;
};

}  // namespace tutti::horovod_adapter
