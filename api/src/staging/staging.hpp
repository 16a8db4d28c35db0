#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "call/shared_backend.hpp"
#include "staging/staging_area.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/backend.hpp"

namespace tutti {

namespace detail {
struct CommunicatorState;
}

/// Carries out operations on a thread of the communicator's own, in the order of the calls. It is for operations on
/// device memory with a backend that takes host memory only: the thread waits until the stream has come to the
/// operation, copies the input to pinned memory, runs the operation there, copies the result back and lets the stream
/// go on. Long messages go in pieces, so that copies and transfer overlap. Memory that the host can reach itself is not
/// copied. And it is for asynchronous operations on host memory that are to go on without the caller.
///
/// Made by the first such operation. Used by the communicator's callers, whom the caller orders.
class Staging {
 public:
  explicit Staging(detail::CommunicatorState& state);
  /// Blocks until all is done.
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Takes an operation into the order of its stream, or of the calls where it has none; does not block. With
  /// TUTTI_STRICT one that would be copied through the host is refused: at once where that is known, else when it is
  /// waited for, and by the calls after it.
  [[nodiscard]] std::unique_ptr<spi::PendingOperation> start(const Operation& op, OperationId id);
  /// Whether nothing is under way.
  [[nodiscard]] bool is_idle();
  /// Whether something is under way, but nothing that the caller's messages could be mistaken for.
  [[nodiscard]] bool admits_messages();
  /// Blocks until nothing is under way: the backend is the caller's until the next start().
  void drain();

  /// Carries out a group with `run` while those of its operations that are on a device have their buffers on the host.
  template <typename Run>
  void run_group(std::span<Operation> ops, const Run& run) {
    GroupImage image(*this, ops);
    run();
    image.deliver();
  }

  /// To be held by the caller who uses the backend while something is under way here.
  [[nodiscard]] FairLock& backend_lock() noexcept { return backend_.lock(); }

 private:
  struct Job;
  class Pending;

  /// What a job that has ended had of its device.
  struct Retired {
    std::shared_ptr<StagingArea> area;
    StagingSlots slots;
  };

  /// The operations of a group in host memory.
  class GroupImage {
   public:
    GroupImage(Staging& staging, std::span<Operation> ops);
    void deliver();

   private:
    struct Entry {
      std::shared_ptr<StagingArea> area;
      std::unique_ptr<StagingSlot> slot;
      Operation whole;
    };
    std::vector<Entry> entries_;
  };

  [[nodiscard]] std::shared_ptr<StagingArea> area(const Stream& stream);
  [[nodiscard]] static Stream stream_of(const Operation& op);
  /// All that a job needs of its device, and last its place in the order of its stream.
  void prepare(Job& job);
  void work();
  void carry_out(Job& job);
  void run_on_device_memory(Job& job);
  /// Carries it out if the backend gets at the device memory by itself.
  [[nodiscard]] bool is_reached(const Job& job);
  void run_pieces(Job& job);
  /// An operation that the backend takes with a stream, behind others that it does not take.
  void run_on_stream(Job& job);
  void run_on_backend(const Operation& op);
  void finish(Job& job, const std::optional<Error>& error);
  /// Gives back what no job needs any more; on the caller's thread.
  void release_retired();
  /// After an error of which the others would otherwise not know.
  void give_up(const Error& error);
  /// Lets operations fail from now on.
  void remember(const Error& error);

  detail::CommunicatorState& state_;
  std::vector<std::shared_ptr<StagingArea>> areas_;

  SharedBackend backend_;  ///< what the caller waits for and what is under way here may depend on each other
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> jobs_;  ///< the first is under way
  std::vector<Retired> retired_;
  std::optional<Error> failure_;  ///< of the first that failed
  bool is_closing_ = false;
  std::thread thread_;
};

/// Whether an operation has to go through Staging: it is on a device, in an order or memory of which the backend knows
/// nothing.
[[nodiscard]] bool needs_staging(const Operation& op, const spi::Capabilities& capabilities);
/// Whether it then has to be copied to the host as well, unless the backend gets at its memory by itself: loads and
/// stores of the host do not.
[[nodiscard]] bool is_copied(const Operation& op, const spi::Capabilities& capabilities);
/// What TUTTI_STRICT makes of an operation that would be copied.
[[nodiscard]] Error staging_refusal(const detail::CommunicatorState& state, const Operation& op);

}  // namespace tutti
