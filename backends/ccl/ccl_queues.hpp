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

/// Operations on memory of SYCL devices, ordered by queues. They go to a communicator of oneCCL's of their own, made
/// for the device and context of the first of them; that one is the same operation on all ranks, so all come to make
/// it.
///
/// oneCCL takes an in-order queue for the order, so it gets one of tutti's own, that is tied to the application's. On a
/// GPU it enqueues. On a CPU it waits on the host until the queue has come to the operation and then carries it out: a
/// worker makes the call, and a gate holds back what comes later on the application's queue. Workers also serve memory
/// that oneCCL does not take (it ends the process when it meets shared or host USM) with an image in device memory.
class Queues final : public common::StreamLibrary {
 public:
  Queues(const Interface& interface, CreationLock& creation, const Rendezvous& rendezvous, const Config& config);
  ~Queues() override;

  void enqueue(std::span<const Operation> operations, Finish& finish) override;
  [[nodiscard]] std::optional<Error> asynchronous_error() override;
  /// Opens the gates. Calls that oneCCL cannot cancel are left behind.
  void abort() noexcept override;

 private:
  struct Shared;
  struct Job;

  /// Whether oneCCL can be left to enqueue it by itself.
  [[nodiscard]] bool enqueues(const Operation& operation);
  [[nodiscard]] ChannelWorker& worker_for(const Operation& operation);
  [[nodiscard]] Worker::Work work_of(const Operation& operation, const std::shared_ptr<Workspace>& workspace);
  [[nodiscard]] Channel& channel_for(const Operation& operation, const Workspace& workspace);
  void enqueue_directly(const Operation& operation);
  /// What a worker is to do for an operation, without its gate.
  [[nodiscard]] std::shared_ptr<Job> prepare(const Operation& operation);
  /// Throws what went wrong on a worker, and tells an observer how long the device took.
  [[nodiscard]] Finish conclusion() const;

  const Interface& interface_;
  CreationLock& creation_;
  Rendezvous rendezvous_;
  std::string way_;  ///< of TUTTI_CCL_QUEUES
  std::shared_ptr<Shared> shared_;
  std::optional<ChannelWorker> line_;
  Messages messages_;
  struct KnownDevice {
    Device device;
    bool is_gpu;
  };
  std::vector<KnownDevice> devices_;
};

}  // namespace tutti::ccl
