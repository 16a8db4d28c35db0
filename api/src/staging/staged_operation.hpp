#pragma once

#include <memory>

#include "call/shared_backend.hpp"
#include "staging/staging_areas.hpp"
#include "staging/thread_job.hpp"
#include "tutti/spi/device.hpp"

namespace tutti {

namespace detail {
struct CommunicatorState;
}

/// An operation on a device that a host thread carries out for its stream: the thread waits until the stream has come
/// to the operation, copies the input to pinned memory, runs the operation there, copies the result back and lets the
/// stream go on. Long messages go in pieces, so that copies and transfer overlap. Memory that the host or the backend
/// can reach is not copied.
class StagedOperation final : public ThreadJob {
 public:
  /// Takes what the operation needs of its device and, last, its place in the order of its stream. A device may let an
  /// allocation wait for all its work, closed gates included, so the thread that opens gates must not allocate. Throws
  /// Error{unsupported} when TUTTI_STRICT forbids copies and this rank knows already that they are needed.
  StagedOperation(const detail::CommunicatorState& state, spi::BackendCommunicator& leaf, StagingAreas& areas,
                  const Operation& op);

  void wait_ready() override;
  /// Carries it out to its end. Throws Error{unsupported} when TUTTI_STRICT forbids copies and they are needed after
  /// all; the result that the stream then goes on with is none, so later operations must fail as well (was_refused()).
  void run(FairLock& lock) override;
  void settle() noexcept override;
  void open_gates() noexcept override { gate_.reset(); }
  [[nodiscard]] bool was_refused() const noexcept override { return was_refused_; }
  [[nodiscard]] bool exchanges_messages() const override;

 private:
  [[nodiscard]] bool run_by_reach(SharedBackend& backend);
  void run_pieces(SharedBackend& backend);
  void run_on_backend(SharedBackend& backend, const Operation& op);

  const detail::CommunicatorState& state_;
  spi::BackendCommunicator& leaf_;
  Operation op_;
  // Order matters: the slots go before the area whose streams they use.
  std::shared_ptr<StagingArea> area_;
  StagingSlots slots_;                       ///< null: nothing is copied
  std::unique_ptr<spi::DeviceEvent> ready_;  ///< null: the caller vouches for it
  std::unique_ptr<spi::DeviceGate> gate_;    ///< null: no stream waits
  bool was_refused_ = false;
};

}  // namespace tutti
