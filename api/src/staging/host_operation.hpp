#pragma once

#include "call/communicator_state.hpp"
#include "call/emulation/emulation.hpp"
#include "call/shared_backend.hpp"
#include "staging/thread_job.hpp"

namespace tutti {

/// An asynchronous operation on host memory that the progress thread carries out.
class HostOperation final : public ThreadJob {
 public:
  HostOperation(const detail::CommunicatorState& state, spi::BackendCommunicator& leaf, const Operation& op)
      : state_(state), leaf_(leaf), op_(op) {}

  void wait_ready() override {}
  void run(FairLock& lock) override {
    SharedBackend backend(leaf_, lock);
    Emulator(backend, state_.rank, state_.size).run(op_);
  }
  void settle() noexcept override {}
  void open_gates() noexcept override {}
  [[nodiscard]] bool exchanges_messages() const override {
    return Emulator::exchanges_messages(op_, leaf_.capabilities());
  }

 private:
  const detail::CommunicatorState& state_;
  spi::BackendCommunicator& leaf_;
  Operation op_;
};

}  // namespace tutti
