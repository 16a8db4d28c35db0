#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/shared_event.hpp"
#include "common/stream_library.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/spi/first_failure.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::common {

/// Carries out operations on device memory with a library that enqueues them on streams: the part of a
/// BackendCommunicator that is the same for all such libraries.
///
/// An operation without a stream runs on a stream of the communicator. If communicators shared a stream, two of them
/// that ranks use in different orders would deadlock. The operations of one communicator are carried out in the
/// order of the calls, also on different streams, because the library would mix up their messages. The caller orders
/// the calls, as those of a BackendCommunicator; abort() may be called from any thread.
class StreamExecutor {
 public:
  /// How often a waiting thread asks the library for errors. Each time is a call that appears in profiles.
  static constexpr std::chrono::milliseconds kGlance{10};

  /// Backend and rank, for error messages.
  struct Identity {
    std::string_view backend;  ///< static storage
    int rank;
    int size;
  };

  StreamExecutor(StreamLibrary& library, const Identity& identity) noexcept : library_(library), identity_(identity) {}
  /// Waits as drain() does, since the library's communicator is destroyed next.
  ~StreamExecutor();
  StreamExecutor(const StreamExecutor&) = delete;
  StreamExecutor& operator=(const StreamExecutor&) = delete;

  /// Whether an operation is for start() and run(): it is ordered by a stream or uses device memory.
  [[nodiscard]] static bool is_for(const Operation& operation) noexcept {
    return !operation.stream.is_host() || operation.where.kind != MemoryKind::host;
  }

  /// The communicator's own stream on a device, in tutti's own context.
  [[nodiscard]] const Stream& own_stream(Device device);
  /// Enqueues an operation without waiting for it.
  [[nodiscard]] std::unique_ptr<spi::PendingOperation> start(const Operation& operation);
  /// Enqueues an operation and waits for it.
  void run(const Operation& operation);
  /// Enqueues one or more operations as if at the same time; the timeout of the first applies to all.
  [[nodiscard]] std::unique_ptr<spi::PendingOperation> start_group(std::span<const Operation> operations);
  /// Keeps `resource` until the stream has ended all work enqueued so far.
  void keep(const Stream& stream, std::shared_ptr<void> resource);
  /// Waits until no operation is pending or the communicator has failed. Checks for failures itself, because there may
  /// be no other thread left that does. Throws nothing.
  void drain() noexcept;

  /// Ends pending operations; operations fail with Error{aborted} from now on.
  void abort() noexcept;
  /// Throws the first error of the communicator, if it has failed: every later call fails too.
  void check_alive(const Operation& operation) const {
    if (failure_.has_failed()) [[unlikely]]
      failure_.rethrow(where(operation));
  }
  /// Asks the library whether an operation has failed; if so, gives up and throws that error.
  void check_library(const Operation& operation);
  /// Gives up because the operation's timeout has passed, and throws Error{timeout}.
  [[noreturn]] void fail_late(const Operation& operation);
  /// "allreduce(sum) of 4 float32 (16 B) on rank 0 of 2 (BACKEND)".
  [[nodiscard]] std::string where(const Operation& operation) const;

 private:
  struct Enqueued {
    Stream stream;
    std::shared_ptr<SharedEvent> end;
    std::shared_ptr<void> resource;
    spi::Deadline deadline = spi::Deadline::max();
  };

  [[nodiscard]] Operation on_stream(const Operation& operation);
  /// Enqueues the operations after all earlier ones; afterwards last_ has their ends, one per stream.
  [[nodiscard]] StreamLibrary::Finish enqueue(std::span<const Operation> operations);
  /// Keeps `resource` until all of the streams have ended the work enqueued so far; for good if that cannot be known.
  void outlive(std::span<const Enqueued> streams, const std::shared_ptr<void>& resource) noexcept;
  void release_reached();
  /// Waits until `one` has ended; false when it never will, because the communicator has failed.
  [[nodiscard]] bool await(const Enqueued& one) noexcept;
  /// Gives up if the library has an error or the deadline of `one` has passed.
  void look_after(const Enqueued& one);
  void give_up(const Error& cause) noexcept;

  StreamLibrary& library_;
  Identity identity_;
  std::vector<std::unique_ptr<spi::DeviceStream>> own_streams_;
  std::vector<Enqueued> last_;  ///< ends of the previous call, one per stream
  std::vector<Enqueued> kept_;
  spi::FirstFailure failure_;
};

}  // namespace tutti::common
