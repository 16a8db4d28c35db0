#pragma once

#include "call/fair_lock.hpp"
#include "tutti/spi/nested.hpp"

namespace tutti {

/// A communicator of a backend for a thread that is not the only one to use it. Every call takes the lock, and calls
/// that take long let others have it again and again, so that the operations of the others go on beside them.
class SharedBackend final : public spi::ForwardingCommunicator {
 public:
  /// Both must outlive it. Other users of the backend hold the lock during their calls.
  SharedBackend(spi::BackendCommunicator& backend, FairLock& lock) : ForwardingCommunicator(backend), lock_(lock) {}

  /// Carries out an operation on device memory and says true if the backend reaches that memory by its addresses.
  [[nodiscard]] bool run_if_reached(const Operation& operation);

 private:
  class Pending;

  void do_run(const Operation& operation) override;
  bool do_reaches(const Operation& operation) override;
  std::unique_ptr<spi::PendingOperation> do_start(const Operation& operation) override;
  std::unique_ptr<spi::PendingOperation> do_start_group(std::span<const Operation> operations) override;

  FairLock& lock_;
};

}  // namespace tutti
