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

/// An operation that may still be under way. Move-only. A host operation that was not asked to be asynchronous is
/// complete when you get its Work. An asynchronous one progresses while any thread is inside ready() or wait() of a
/// Work of the same communicator, or by itself with TUTTI_PROGRESS_THREAD=1; destroying its Work waits for it (and
/// swallows its error: call wait() to see it).
/// Stream work is ordered by its stream: destroying its Work does not block.
///
/// An emulated operation may be carried out before its call returns, even if it was asked to be asynchronous.
///
/// One Work is used by one thread at a time.
class TUTTI_API Work {
 public:
  /// Complete.
  Work() noexcept = default;
  explicit Work(std::unique_ptr<detail::WorkState> state) noexcept;
  Work(Work&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Work& operator=(Work&& other) noexcept {
    std::swap(state_, other.state_);
    other.finish();
    return *this;
  }
  ~Work() { finish(); }

  /// Blocks until the operation has completed; throws its Error. Further calls return at once.
  void wait();
  /// Like wait(), but gives up after `duration` and returns false; the operation goes on.
  [[nodiscard]] bool wait_for(std::chrono::nanoseconds duration);
  /// Makes progress and says whether the operation has completed, well or not. Does not wait for it, but perhaps for a
  /// moment until a thread of the communicator's that carries out others lets go of the backend.
  [[nodiscard]] bool ready();
  /// The error the operation completed with, or null. Does not progress.
  [[nodiscard]] const Error* error() const noexcept;

 private:
  // Inline, since nearly every Work is complete and costs no more than this test.
  void finish() noexcept {
    if (state_ != nullptr) [[unlikely]]
      finish_pending();
  }
  void finish_pending() noexcept;

  detail::WorkState* state_ = nullptr;
};

}  // namespace tutti
