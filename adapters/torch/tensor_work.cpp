#include "tensor_work.hpp"

#include <utility>

#include "call_queue.hpp"

namespace tutti::torch_adapter {

TensorWork::TensorWork(int rank, c10d::OpType type, const char* title, const std::vector<at::Tensor>& inputs,
                       std::vector<at::Tensor> results)
    : Work(rank, type, title, inputs),
      results_(std::move(results)),
      future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {}

void TensorWork::complete(std::exception_ptr error) {
  // The waiting thread may go on at finish(), so the future comes first: its value is then there for that thread.
  if (error == nullptr)
    future_->markCompleted(at::IValue(results_));
  else
    future_->setError(error);
  finish(error);
}

bool TensorWork::wait(std::chrono::milliseconds timeout) {
  // With a deadline this thread must not begin a call, which would keep it for longer.
  if (timeout == kNoTimeout) {
    if (const std::shared_ptr<CallQueue> queue = queue_.lock()) queue->help(*this);
  }
  return Work::wait(timeout);
}

}  // namespace tutti::torch_adapter
