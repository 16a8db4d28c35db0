#pragma once

#include <memory>

#include "call/shared_backend.hpp"
#include "staging/staging_areas.hpp"
#include "tutti/spi/device.hpp"

namespace tutti {

namespace detail {
struct CommunicatorState;
}

/// An operation on a device that a host thread carries out for its stream: the thread waits until the stream has come
/// to the operation, copies the input to pinned memory, runs the operation there, copies the result back and lets the
/// stream go on. Long messages go in pieces, so that copies and transfer overlap. Memory that the host or the backend
/// can reach is not copied.
class StagedOperation {
 public:
  /// Takes what the operation needs of its device and, last, its place in the order of its stream. A device may let an
  /// allocation wait for all its work, closed gates included, so the thread that opens gates must not allocate. Throws
  /// Error{unsupported} when TUTTI_STRICT forbids copies and this rank knows already that they are needed.
  StagedOperation(detail::CommunicatorState& state, StagingAreas& areas, const Operation& op);

  /// Blocks until the stream has come to the operation.
  void wait_ready();
  /// Carries it out to its end. Throws Error{unsupported} when TUTTI_STRICT forbids copies and they are needed after
  /// all; the result that the stream then goes on with is none, so later operations must fail as well (is_final()).
  void run(SharedBackend& backend);
  /// Waits for copies that an error left under way: the application's memory is its own again from now on.
  void settle() noexcept;
  /// Lets the stream go on.
  void open_gate() noexcept { gate_.reset(); }
  /// Whether run() failed in a way that every later operation has to fail with.
  [[nodiscard]] bool was_refused() const noexcept { return was_refused_; }

 private:
  [[nodiscard]] bool run_by_reach(SharedBackend& backend);
  void run_pieces(SharedBackend& backend);
  void run_on_backend(SharedBackend& backend, const Operation& op);

  detail::CommunicatorState& state_;
  Operation op_;
  // Order matters: the slots go before the area whose streams they use.
  std::shared_ptr<StagingArea> area_;
  StagingSlots slots_;                       ///< null: nothing is copied
  std::unique_ptr<spi::DeviceEvent> ready_;  ///< null: the caller vouches for it
  std::unique_ptr<spi::DeviceGate> gate_;    ///< null: no stream waits
  bool was_refused_ = false;
};

}  // namespace tutti
