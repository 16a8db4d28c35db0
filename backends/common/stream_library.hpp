#pragma once

#include <functional>
#include <optional>
#include <span>

#include "tutti/error.hpp"
#include "tutti/operation.hpp"

namespace tutti::common {

/// A communicator of a library that enqueues operations on streams, as a StreamExecutor uses it.
class StreamLibrary {
 public:
  virtual ~StreamLibrary() = default;
  StreamLibrary(const StreamLibrary&) = delete;
  StreamLibrary& operator=(const StreamLibrary&) = delete;

  /// What the host does when operations have ended, called by whoever sees that; empty for most. What it holds is kept
  /// until the streams have come so far, even if nobody looks.
  using Finish = std::function<void()>;

  /// Enqueues the operations as if at the same time, each on its stream, which is never the host's. Returns when the
  /// streams have got them: what is enqueued on a stream next comes after them. Throws Error; what `finish` holds by
  /// then is kept all the same, since the streams may have got a part.
  virtual void enqueue(std::span<const Operation> operations, Finish& finish) = 0;
  /// What went wrong with an operation after it was enqueued, or nothing. Cheap; from any thread.
  [[nodiscard]] virtual std::optional<Error> asynchronous_error() = 0;
  /// Makes what is under way end, somehow: streams must not wait for it any more. From any thread, at any time, once.
  /// What cannot be cancelled is left as it is.
  virtual void abort() noexcept = 0;

 protected:
  StreamLibrary() = default;
};

}  // namespace tutti::common
