#pragma once

#include <ATen/core/ivalue.h>

#include <exception>
#include <memory>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

namespace tutti::torch_adapter {

class CallQueue;

/// A call of torch that may still be pending, with the future that torch's own users of it (DistributedDataParallel)
/// ask for.
class TensorWork final : public c10d::Work {
 public:
  /// `results` become the value of the future. `title` is shown by torch's profiler.
  TensorWork(int rank, c10d::OpType type, const char* title, const std::vector<at::Tensor>& inputs,
             std::vector<at::Tensor> results);

  /// Ends the call, with an error unless that is null. Runs the callbacks of the future.
  void complete(std::exception_ptr error);
  /// The queue whose calls a waiting thread carries out, if no other thread does.
  void set_queue(std::weak_ptr<CallQueue> queue) { queue_ = std::move(queue); }

  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  std::vector<at::Tensor> result() override { return results_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

 private:
  std::vector<at::Tensor> results_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  std::weak_ptr<CallQueue> queue_;
};

}  // namespace tutti::torch_adapter
