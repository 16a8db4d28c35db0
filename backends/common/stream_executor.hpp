#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/first_failure.hpp"
#include "common/shared_event.hpp"
#include "common/stream_library.hpp"
#include "tutti/error.hpp"
#include "tutti/operation.hpp"
#include "tutti/spi/backend.hpp"

namespace tutti::common {

/// Carries out operations on the memory of devices with a library that enqueues them on streams: the part of a
/// BackendCommunicator that is the same over all such libraries.
///
/// An operation without a stream goes to one of the communicator's own: on a stream that communicators share, two that
/// are used in another order on another rank would wait for each other for ever. The operations of one communicator
/// are carried out in the order of the calls, also when they are on different streams: a library would mix up their
/// messages. Calls are ordered by the caller, as those of a BackendCommunicator; abort() comes from any thread.
class StreamExecutor {
 public:
  /// How long an error of the library may go unnoticed by one that waits. Each look is a call that profiles show.
  static constexpr std::chrono::milliseconds kGlance{10};

  /// Who this is, for messages.
  struct Identity {
    std::string_view backend;  ///< static storage
    int rank;
    int size;
  };

  StreamExecutor(StreamLibrary& library, const Identity& identity) noexcept : library_(library), identity_(identity) {}
  /// Waits as drain() does, since the library's communicator goes next.
  ~StreamExecutor();
  StreamExecutor(const StreamExecutor&) = delete;
  StreamExecutor& operator=(const StreamExecutor&) = delete;

  /// Whether an operation is ordered by a stream or on memory of a device, and so for start() and run().
  [[nodiscard]] static bool is_for(const Operation& operation) noexcept {
    return !operation.stream.is_host() || operation.where.kind != MemoryKind::host;
  }

  /// The communicator's own stream on a device, in tutti's own context.
  [[nodiscard]] const Stream& own_stream(Device device);
  /// Enqueues it; does not wait for it.
  [[nodiscard]] std::unique_ptr<spi::PendingOperation> start(const Operation& operation);
  /// Enqueues it and waits for it.
  void run(const Operation& operation);
  /// Enqueues one or more as if at the same time; the timeout of the first is that of all.
  [[nodiscard]] std::unique_ptr<spi::PendingOperation> start_group(std::span<const Operation> operations);
  /// Keeps `resource` until the stream has come to where it is now.
  void keep(const Stream& stream, std::shared_ptr<void> resource);
  /// Waits until nothing is under way, or the communicator has failed, which it finds out by itself: nobody may be
  /// left who looks at the operations. Throws nothing.
  void drain() noexcept;

  /// Ends what is under way; operations fail with Error{aborted} from now on.
  void abort() noexcept;
  /// Throws what the communicator failed with before, if it did: a communicator that has failed only fails.
  void check_alive(const Operation& operation) const {
    if (failure_.has_failed()) [[unlikely]]
      failure_.rethrow(where(operation));
  }
  /// Asks the library whether an operation has failed; if so, gives up and throws that.
  void check_library(const Operation& operation);
  /// Gives up, because the operation's time is over, and throws Error{timeout}.
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
  /// Enqueues them in order after what came before; their ends are in last_ then, one per stream.
  [[nodiscard]] StreamLibrary::Finish enqueue(std::span<const Operation> operations);
  /// Keeps `resource` until all of the streams have come to where they are now, whatever becomes of them.
  void outlive(std::span<const Enqueued> streams, const std::shared_ptr<void>& resource) noexcept;
  void release_reached();
  /// Waits until it has ended; false when it never will, because the communicator has failed.
  [[nodiscard]] bool await(const Enqueued& one) noexcept;
  /// Gives up if the library has met an error or the time of `one` is over.
  void look_after(const Enqueued& one);
  void give_up(const Error& cause) noexcept;

  StreamLibrary& library_;
  Identity identity_;
  std::vector<std::unique_ptr<spi::DeviceStream>> own_streams_;
  std::vector<Enqueued> last_;  ///< of the call before
  std::vector<Enqueued> kept_;
  FirstFailure failure_;
};

}  // namespace tutti::common
