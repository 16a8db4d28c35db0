#pragma once

#include <memory>

#include "common/stream_executor.hpp"
#include "nccl_channel.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::nccl {

/// A communicator over an NCCL communicator on this rank's GPU. Operations on host memory go through GPU memory,
/// because NCCL cannot access host memory.
class Communicator final : public spi::BackendCommunicator {
 public:
  /// Collective over the members of the context's rendezvous.
  Communicator(const Api& api, int version, Device device, const spi::CreateContext& context);

  [[nodiscard]] Device device() const noexcept { return device_; }

 private:
  void do_run(const Operation& operation) override { executor_.run(placed(operation)); }
  std::unique_ptr<spi::PendingOperation> do_start(const Operation& operation) override {
    return executor_.start(placed(operation));
  }
  std::unique_ptr<spi::PendingOperation> do_start_group(std::span<const Operation> operations) override;
  void do_abort() noexcept override { executor_.abort(); }

  /// The operation; if it has neither a stream nor device memory, with the communicator's own stream.
  [[nodiscard]] Operation placed(const Operation& operation);

  Device device_;
  Channel channel_;
  // Declared after the channel, so that it is destroyed, and pending operations end, before the channel is.
  common::StreamExecutor executor_;
};

}  // namespace tutti::nccl
