#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace tutti::ccl {

/// Lets one thread at a time into oneCCL, in the order in which the threads came. Needed when oneCCL runs without its
/// worker thread: all calls then make progress themselves, and two of them at once end the process.
class Turns {
 public:
  /// Without this, every Turn is empty and threads enter freely. Call before the first Turn.
  void enable(bool yes) noexcept { enabled_ = yes; }

  [[nodiscard]] bool are_taken() const noexcept { return enabled_; }

  /// Takes the last turn, for the calling thread alone: another thread that wants one, or gives way, stops for ever.
  /// For the exit of the process, in which oneCCL's objects are destroyed while threads that were left behind still ask
  /// for the completion of an operation. Gives up if the thread that is inside keeps its turn for `patience`.
  void close(std::chrono::milliseconds patience);

 private:
  friend class Turn;
  void enter();
  void leave();
  /// Relaxed: a thread that is seen late gets its turn a little later.
  [[nodiscard]] bool is_awaited() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }

  bool enabled_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t next_ = 0;     ///< the ticket of the next thread
  std::uint64_t serving_ = 0;  ///< the ticket of the thread that is inside
  std::thread::id last_{};     ///< the thread that called close()
  std::atomic<unsigned> waiting_ = 0;
};

/// Scope in which the calling thread is inside oneCCL.
class Turn {
 public:
  explicit Turn(Turns& turns) : turns_(turns.enabled_ ? &turns : nullptr) {
    if (turns_ != nullptr) turns_->enter();
  }
  ~Turn() {
    if (turns_ != nullptr) turns_->leave();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// Whether threads take turns at all.
  [[nodiscard]] explicit operator bool() const noexcept { return turns_ != nullptr; }
  /// Lets the waiting threads in, if there are any, and queues up behind them.
  void give_way() {
    if (turns_ == nullptr || !turns_->is_awaited()) return;
    turns_->leave();
    turns_->enter();
  }

 private:
  Turns* turns_;
};

}  // namespace tutti::ccl
