#pragma once

#include <memory>

#include "common/stream_executor.hpp"
#include "nccl_channel.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::nccl {

/// A communicator over one of NCCL, on this rank's GPU. Operations on host memory go through memory of the GPU, since
/// NCCL knows no other.
class Communicator final : public spi::BackendCommunicator {
 public:
  /// Collective over the members of the context's rendezvous.
  Communicator(const Api& api, Device device, const spi::CreateContext& context);

  [[nodiscard]] Device device() const noexcept { return device_; }

 private:
  void do_run(const Operation& operation) override { executor_.run(placed(operation)); }
  std::unique_ptr<spi::PendingOperation> do_start(const Operation& operation) override {
    return executor_.start(placed(operation));
  }
  std::unique_ptr<spi::PendingOperation> do_start_group(std::span<const Operation> operations) override;
  void do_abort() noexcept override { executor_.abort(); }

  /// The operation with a stream of the GPU if it is for the host.
  [[nodiscard]] Operation placed(const Operation& operation);

  Device device_;
  Channel channel_;
  // After the channel: what is under way ends before it goes.
  common::StreamExecutor executor_;
};

}  // namespace tutti::nccl
