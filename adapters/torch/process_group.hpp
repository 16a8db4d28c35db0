#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "c10d_base.hpp"
#include "call_queue.hpp"
#include "message_lane.hpp"
#include "tutti/communicator.hpp"

namespace tutti::torch_adapter {

/// A process group of torch over tutti. Collectives are carried out in the order of the calls, behind the program's
/// back; messages are independent of them and of each other. Errors of tutti are exceptions with its text: of the call,
/// if its arguments are refused, else of Work::wait() and of the future.
class ProcessGroup : public C10dBase {
 public:
  using Tensors = std::vector<at::Tensor>;
  using TensorLists = std::vector<Tensors>;
  using WorkPointer = c10::intrusive_ptr<c10d::Work>;

  /// Collective; blocks until all ranks take part. `name` is that of the communicator in messages and traces.
  ProcessGroup(c10d::Store& store, int rank, int size, std::chrono::milliseconds timeout, const std::string& name);
  ~ProcessGroup() override;

  /// The backend of tutti that serves this group.
  [[nodiscard]] std::string engine() const { return std::string(collectives_.backend()); }
  /// Waits a moment for pending calls, then aborts them. No calls may follow.
  void close() noexcept;

  const std::string getBackendName() const override { return "tutti"; }  // NOLINT: torch's signature

  WorkPointer allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPointer allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
  WorkPointer reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPointer reduce_scatter(Tensors& outputs, TensorLists& inputs, const c10d::ReduceScatterOptions& options) override;
  WorkPointer _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                   const c10d::ReduceScatterOptions& options) override;
  WorkPointer broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPointer allgather(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPointer _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override;
  WorkPointer allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                                  const c10d::AllgatherOptions& options) override;
  WorkPointer gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
  WorkPointer scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& options) override;
  WorkPointer alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
  WorkPointer alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_rows,
                            std::vector<std::int64_t>& input_rows, const c10d::AllToAllOptions& options) override;
  WorkPointer barrier(const c10d::BarrierOptions& options) override;
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override;

  WorkPointer send(Tensors& tensors, int peer, int tag) override;
  WorkPointer recv(Tensors& tensors, int peer, int tag) override;
  WorkPointer recvAnysource(Tensors& tensors, int tag) override;

  void setSequenceNumberForGroup() override {}
  std::uint64_t getSequenceNumberForGroup() override { return calls_; }

#if TORCH_VERSION_MAJOR >= 2
  WorkPointer allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::AllgatherOptions& options) override;
  WorkPointer reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                              const c10d::ReduceScatterOptions& options) override;
  void setTimeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }
  void abort() override;
  void shutdown() override { close(); }
#endif

 private:
  using Body = std::function<void(std::chrono::nanoseconds timeout)>;
  /// Names of a call for torch's profiler.
  struct Call {
    c10d::OpType type;
    const char* title;
  };
  WorkPointer start(Call call, const Tensors& inputs, const Tensors& results, std::chrono::milliseconds timeout,
                    Body body);
  WorkPointer start_message(Call call, Tensors& tensors, int tag,
                            std::function<Work(const Buffer&, const CallOptions&)> body);
  [[nodiscard]] std::chrono::milliseconds timeout_or_default(std::chrono::milliseconds timeout) const;
  void check_list(const Tensors& tensors, const char* argument) const;
  void check_sizes(const at::Tensor& whole, const at::Tensor& part, const char* whole_name,
                   const char* part_name) const;
  Body exchange(const at::Tensor& input, std::vector<std::int64_t> input_counts, const at::Tensor& output,
                std::vector<std::int64_t> output_counts, std::function<void()> end) const;

  Communicator collectives_;
  Communicator messages_;  // of their own, so that they do not wait for collectives
  std::chrono::milliseconds timeout_;
  std::atomic<std::uint64_t> calls_ = 0;
  std::shared_ptr<CallQueue> queue_ = std::make_shared<CallQueue>();
  std::unique_ptr<MessageLane> lane_ = std::make_unique<MessageLane>();
};

}  // namespace tutti::torch_adapter
