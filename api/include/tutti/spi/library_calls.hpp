#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "tutti/export.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::spi {

/// Blocking calls of a communicator into its library. When a rank has died or is late, the library waits for ever and
/// has no way to be told. interrupt() ends such a call from another thread: a signal takes the waiting thread
/// out of the library, and it throws. The library has to be left alone from then on, since its locks and queues are in
/// an unknown state. A call that is not interrupted costs a few stores.
class TUTTI_API LibraryCalls {
 public:
  /// Throws the error of an interrupted call of `owner`.
  using Raise = void (*)(const void* owner, const Operation& operation);

  LibraryCalls(Raise raise, const void* owner) noexcept : raise_(raise), owner_(owner) {}
  LibraryCalls(const LibraryCalls&) = delete;
  LibraryCalls& operator=(const LibraryCalls&) = delete;

  class Scope;
  class ScopeBeside;

  enum class Outcome : std::uint8_t {
    none,         ///< no thread was inside a call, or the call ended by itself
    interrupted,  ///< a call was ended: the library must not be called again in this process
    stuck,        ///< a thread is still inside
  };
  /// Ends the calls that threads are inside of; they throw the error of `raise`. The owner must have failed before, so
  /// that no thread begins another call. Waits until the threads have left, at most for `patience`. Called from any
  /// other thread.
  Outcome interrupt(std::chrono::milliseconds patience) noexcept;

  /// The operation of the last call of the thread that calls the communicator; only inside of that call.
  [[nodiscard]] const Operation& operation() const noexcept {
    return *marks_[0].operation.load(std::memory_order_relaxed);
  }

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
  };

  Raise raise_;
  const void* owner_;
  /// The first is for the thread that calls the communicator, the others for threads beside it.
  std::array<Mark, 4> marks_;
};

/// The thread that calls the communicator is inside a blocking call while the object exists. An exception of the
/// interrupted call passes the frames of tutti between the function with the object and the library; those of the
/// library are skipped. Always inlined: the frame is that of the function, and the object needs no memory.
class LibraryCalls::Scope {
 public:
  [[gnu::always_inline]] Scope(LibraryCalls& calls, const Operation& operation) noexcept : mark_(calls.marks_[0]) {
    mark_.operation.store(&operation, std::memory_order_relaxed);
    // Release: a signal handler that sees the frame sees the operation.
    mark_.frame.store(__builtin_frame_address(0), std::memory_order_release);
  }
  // Release: an interrupting thread that sees the call ended sees its effects.
  [[gnu::always_inline]] ~Scope() { mark_.frame.store(nullptr, std::memory_order_release); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  Mark& mark_;
};

/// The same for threads beside that one. If too many are inside, a call cannot be interrupted.
class LibraryCalls::ScopeBeside {
 public:
  [[gnu::always_inline]] ScopeBeside(LibraryCalls& calls, const Operation& operation) noexcept {
    for (std::size_t i = 1; i < calls.marks_.size(); ++i) {
      // The operation takes the mark, so that the frame appears last.
      const Operation* nobody = nullptr;
      if (!calls.marks_[i].operation.compare_exchange_strong(nobody, &operation)) continue;
      mark_ = &calls.marks_[i];
      mark_->frame.store(__builtin_frame_address(0), std::memory_order_release);
      return;
    }
  }
  ~ScopeBeside() {
    if (mark_ == nullptr) return;
    mark_->frame.store(nullptr, std::memory_order_release);
    mark_->operation.store(nullptr, std::memory_order_release);
  }
  ScopeBeside(const ScopeBeside&) = delete;
  ScopeBeside& operator=(const ScopeBeside&) = delete;

 private:
  Mark* mark_ = nullptr;
};

}  // namespace tutti::spi
