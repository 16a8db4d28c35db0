#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ccl_channel_worker.hpp"
#include "ccl_messages.hpp"
#include "channel/ccl_interface.hpp"
#include "common/stream_library.hpp"
#include "tutti/config.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::ccl {

/// Operations on memory of SYCL devices, ordered by queues. They use a communicator of oneCCL of their own, created for
/// the device and context of the first operation. The first operation is the same on all ranks, so all of them take
/// part in the creation.
///
/// oneCCL needs an in-order queue, so it gets one of tutti's own that is synchronised with the application's. On a GPU
/// oneCCL enqueues the operation. On a CPU it waits on the host until the queue reaches the operation, then carries it
/// out: a worker makes the call, and a gate holds back later commands on the application's queue. Workers also serve
/// shared and host USM, at which oneCCL ends the process, by an image in device memory.
class Queues final : public common::StreamLibrary {
 public:
  Queues(const Interface& interface, CreationLock& creation_lock, const Rendezvous& rendezvous, const Config& config);
  ~Queues() override;

  void enqueue(std::span<const Operation> operations, Finish& finish) override;
  [[nodiscard]] std::optional<Error> asynchronous_error() override;
  /// Opens the gates. Running calls, which oneCCL cannot cancel, are left behind.
  void abort() noexcept override;
  /// Moves the channels to `channels`, for whoever destroys them. No operation may follow.
  void take_channels(std::vector<std::shared_ptr<void>>& channels) {
    messages_.take_channels(channels);
    if (channel_worker_) channels.push_back(std::move(channel_worker_->channel));
  }

 private:
  struct Shared;
  struct Job;

  /// Whether oneCCL itself may enqueue the operation, without a worker.
  [[nodiscard]] bool enqueues(const Operation& operation);
  [[nodiscard]] ChannelWorker& worker_for(const Operation& operation);
  [[nodiscard]] Worker::Work work_of(const Operation& operation, const std::shared_ptr<Workspace>& workspace);
  [[nodiscard]] Channel& channel_for(const Operation& operation, const Workspace& workspace);
  void enqueue_directly(const Operation& operation);
  /// The job of a worker for an operation; its gate is set later.
  [[nodiscard]] std::shared_ptr<Job> prepare(const Operation& operation);
  /// A function that throws the first error of a worker and reports device times to the observer.
  [[nodiscard]] Finish conclusion() const;

  const Interface& interface_;
  CreationLock& creation_lock_;
  Rendezvous rendezvous_;
  std::string way_;  ///< value of TUTTI_CCL_QUEUES
  std::shared_ptr<Shared> shared_;
  std::optional<ChannelWorker> channel_worker_;
  Messages messages_;
  struct KnownDevice {
    Device device;
    bool is_gpu;
  };
  std::vector<KnownDevice> devices_;
};

}  // namespace tutti::ccl
