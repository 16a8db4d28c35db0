#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "tutti/error.hpp"
#include "tutti/export.hpp"

namespace tutti {

namespace detail {
class WorkState;
}

/// Handle of an operation that may still be pending. Move-only; used by one thread at a time.
///
/// - Synchronous host operation: complete when the call returns its Work.
/// - Asynchronous host operation: progresses while any thread is inside ready() or wait() of a Work of the same
///   communicator, or by itself with TUTTI_PROGRESS_THREAD=1. Destroying its Work waits for it and discards its error;
///   call wait() to get the error.
/// - Operation on a device stream: ordered by the stream. Destroying its Work does not block.
///
/// An emulated operation may be carried out before its call returns, even if it is asynchronous.
class TUTTI_API Work {
 public:
  /// A completed operation.
  Work() noexcept = default;
  explicit Work(std::unique_ptr<detail::WorkState> state) noexcept;
  Work(Work&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Work& operator=(Work&& other) noexcept {
    std::swap(state_, other.state_);
    other.finish();
    return *this;
  }
  ~Work() { finish(); }

  /// Blocks until the operation has completed; throws its Error. Further calls return immediately.
  void wait();
  /// Like wait(), but returns false after `duration`; the operation continues.
  [[nodiscard]] bool wait_for(std::chrono::nanoseconds duration);
  /// Makes progress and returns whether the operation has completed, successfully or not. Does not wait for it, but may
  /// block briefly while the communicator's own thread uses the backend.
  [[nodiscard]] bool ready();
  /// The error the operation completed with, or null. Makes no progress.
  [[nodiscard]] const Error* error() const noexcept;

 private:
  // Inline: nearly every Work is complete and costs only this test.
  void finish() noexcept {
    if (state_ != nullptr) [[unlikely]]
      finish_pending();
  }
  void finish_pending() noexcept;

  detail::WorkState* state_ = nullptr;
};

}  // namespace tutti
