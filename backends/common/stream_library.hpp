#pragma once

#include <functional>
#include <optional>
#include <span>

#include "tutti/error.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::common {

/// A communicator of a library that enqueues operations on streams, as a StreamExecutor uses it.
class StreamLibrary {
 public:
  virtual ~StreamLibrary() = default;
  StreamLibrary(const StreamLibrary&) = delete;
  StreamLibrary& operator=(const StreamLibrary&) = delete;

  /// Work of the host after operations have ended, called by the thread that sees their end; empty for most. The
  /// resources it holds are kept until the streams have ended the operations, even if no thread looks.
  using Finish = std::function<void()>;

  /// Enqueues the operations as if at the same time, each on its stream, which is never the host's. Returns when they
  /// are enqueued: work enqueued on a stream next comes after them. Throws Error; the resources that `finish` holds by
  /// then are kept all the same, since some of the work may be enqueued.
  virtual void enqueue(std::span<const Operation> operations, Finish& finish) = 0;
  /// Error of an operation after it was enqueued, or nothing. Cheap; from any thread.
  [[nodiscard]] virtual std::optional<Error> asynchronous_error() = 0;
  /// Makes pending operations end, with any result: streams must not wait for them any more. Operations that cannot be
  /// cancelled are left as they are. From any thread, at any time, once.
  virtual void abort() noexcept = 0;

 protected:
  StreamLibrary() = default;
};

}  // namespace tutti::common
