#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "tutti/export.hpp"
#include "tutti/operation.hpp"

namespace tutti::spi {

/// Blocking calls of a communicator into its library. When a rank has died or is late, the library waits for ever and
/// has no way to be told. interrupt() ends such a call from another thread: a signal makes the waiting thread throw
/// from within the library. The library has to be left alone from then on, since its locks and queues are in an unknown
/// state. A call that is not interrupted costs a few stores.
class TUTTI_API LibraryCalls {
 public:
  /// Throws the error of an interrupted call of `owner`.
  using Raise = void (*)(const void* owner, const Operation& operation);

  LibraryCalls(Raise raise, const void* owner) noexcept : raise_(raise), owner_(owner) {}
  LibraryCalls(const LibraryCalls&) = delete;
  LibraryCalls& operator=(const LibraryCalls&) = delete;

  class Scope;

  enum class Outcome : std::uint8_t {
    none,         ///< no thread was inside a call, or the call ended by itself
    interrupted,  ///< a call was ended: the library must not be called again in this process
    stuck,        ///< a thread is still inside
  };
  /// Ends the calls that threads are inside of; they throw the error of `raise`. The owner must have failed before, so
  /// that no thread begins another call. Waits until the threads have left, at most for `patience`. Called from any
  /// other thread.
  Outcome interrupt(std::chrono::milliseconds patience) noexcept;

  /// The signal that interrupts. Its handler is installed when the first call is interrupted; a handler of the
  /// application stays, and calls can then not be interrupted. Threads that block the signal cannot be interrupted
  /// either; those of tutti do not block it.
  [[nodiscard]] static int signal_number() noexcept;

 private:
  friend struct Interruption;
  /// A thread that is inside a call.
  struct Mark {
    std::atomic<const void*> frame = nullptr;  ///< of the call on the thread's stack; null: no thread is inside
    std::atomic<const Operation*> operation = nullptr;
    std::atomic<void*> thread = nullptr;  ///< its thread pointer
  };
  [[nodiscard]] static void* this_thread() noexcept { return __builtin_thread_pointer(); }

  Raise raise_;
  const void* owner_;
  /// The first is for the thread that calls the communicator, the others for threads beside it.
  std::array<Mark, 4> marks_;
};

/// The calling thread is inside a blocking call while the object exists. An exception of the interrupted call passes
/// all frames between the function with the object and the library.
class LibraryCalls::Scope {
 public:
  /// By the thread that calls the communicator.
  [[gnu::always_inline]] Scope(LibraryCalls& calls, const Operation& operation) noexcept : mark_(&calls.marks_[0]) {
    mark_->thread.store(this_thread(), std::memory_order_relaxed);
    mark_->operation.store(&operation, std::memory_order_relaxed);
    // Release: a signal handler or a thread that sees the frame sees the other two.
    mark_->frame.store(__builtin_frame_address(0), std::memory_order_release);
  }
  /// By another thread beside it. If too many are inside, this call cannot be interrupted.
  enum class Beside : std::uint8_t { caller };
  [[gnu::always_inline]] Scope(LibraryCalls& calls, const Operation& operation, Beside) noexcept {
    for (std::size_t i = 1; i < calls.marks_.size() && mark_ == nullptr; ++i) {
      const void* nobody = nullptr;
      if (calls.marks_[i].frame.compare_exchange_strong(nobody, __builtin_frame_address(0))) mark_ = &calls.marks_[i];
    }
    if (mark_ == nullptr) return;
    // Until the last store a signal finds another thread in the mark and does nothing.
    mark_->operation.store(&operation, std::memory_order_relaxed);
    mark_->thread.store(this_thread(), std::memory_order_release);
  }
  ~Scope() {
    // Release: an interrupting thread that sees the call ended sees its effects.
    if (mark_ != nullptr) mark_->frame.store(nullptr, std::memory_order_release);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Mark* mark_ = nullptr;
};

}  // namespace tutti::spi
