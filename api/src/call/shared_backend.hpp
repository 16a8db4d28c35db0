#pragma once

#include "call/fair_lock.hpp"
#include "tutti/spi/backend.hpp"

namespace tutti {

/// A backend for a thread that is not the only one to use it. Every call takes the lock, and calls that take long let
/// others have it again and again, so that the others' operations go on beside it.
class SharedBackend final : public spi::BackendCommunicator {
 public:
  /// `backend` must outlive it.
  explicit SharedBackend(spi::BackendCommunicator& backend)
      : BackendCommunicator(backend.capabilities()), backend_(backend) {}

  /// To be held by whoever uses the backend itself.
  [[nodiscard]] FairLock& lock() noexcept { return lock_; }
  /// Carries out an operation on device memory and says true if the backend reaches that memory by its addresses.
  [[nodiscard]] bool run_if_reached(const Operation& operation);

 private:
  class Pending;

  void do_run(const Operation& operation) override;
  std::unique_ptr<spi::PendingOperation> do_start(const Operation& operation) override;
  std::unique_ptr<spi::PendingOperation> do_start_group(std::span<const Operation> operations) override;
  void do_abort() noexcept override { backend_.abort(); }

  spi::BackendCommunicator& backend_;
  FairLock lock_;
};

}  // namespace tutti
