#include "tensors.hpp"

#include <cstring>
#include <exception>
#include <numeric>
#include <thread>
#include <utility>

#include "tutti/error.hpp"

namespace tutti::horovod_adapter {

using upstream::Status;

namespace {

DataType type_of(upstream::DataType type) {
  switch (type) {
    case upstream::HOROVOD_UINT8:
    case upstream::HOROVOD_BOOL:  // moved as bytes; reductions are refused before
      return DataType::uint8;
    case upstream::HOROVOD_INT8:
      return DataType::int8;
    case upstream::HOROVOD_UINT16:
      return DataType::uint16;
    case upstream::HOROVOD_INT16:
      return DataType::int16;
    case upstream::HOROVOD_INT32:
      return DataType::int32;
    case upstream::HOROVOD_INT64:
      return DataType::int64;
    case upstream::HOROVOD_FLOAT16:
      return DataType::float16;
    case upstream::HOROVOD_FLOAT32:
      return DataType::float32;
    case upstream::HOROVOD_FLOAT64:
      return DataType::float64;
  }
  throw Error(ErrorCode::invalid_argument, "data type " + std::to_string(static_cast<int>(type)) + " is unknown",
              "horovod");
}

/// Asks the framework for output `index` of a shape.
Status allocate(const Kept& kept, int index, const upstream::TensorShape& shape,
                std::shared_ptr<upstream::Tensor>& tensor) {
  if (kept.context == nullptr) return Status::PreconditionError("the tensor has no context that allocates its output");
  std::shared_ptr<upstream::ReadyEvent> event;
  const Status status = kept.context->AllocateOutput(index, shape, &tensor, &event);
  if (!status.ok()) return status;
  if (tensor == nullptr) return Status::UnknownError("the context of the tensor allocated no output");
  while (event != nullptr && !event->Ready()) std::this_thread::yield();
  return status;
}

void copy(const upstream::Tensor& to, const void* data, std::size_t bytes) {
  if (bytes > 0) std::memcpy(const_cast<void*>(to.data()), data, bytes);  // NOLINT: upstream's outputs are const
}

}  // namespace

Status status_of(const Error& error) {
  const std::string text = error.what();
  switch (error.code()) {
    case ErrorCode::invalid_argument:
      return Status::InvalidArgument(text);
    case ErrorCode::invalid_usage:
      return Status::PreconditionError(text);
    case ErrorCode::aborted:
      // Programs cannot abort through this interface: another rank has left, or its engine has failed.
      return upstream::SHUT_DOWN_ERROR;
    default:
      return Status::UnknownError(text);
  }
}

horovod::Callback completion(Kept kept, std::shared_ptr<Result> result, Read read) {
  const auto shared = std::make_shared<Kept>(std::move(kept));
  return [shared, result = std::move(result), read = std::move(read)](const Error* error) {
    // Taken out: the engine keeps this function longer than the framework's tensors may live.
    const Kept own = std::exchange(*shared, {});
    Status status = error == nullptr ? Status::OK() : status_of(*error);
    const auto take = [&](const horovod::Handle& handle) {
      if (!status.ok()) return;
      try {
        status = read(own, handle);
      } catch (const std::exception& failure) {
        status = Status::UnknownError(failure.what());
      }
    };
    if (result != nullptr && !result->take(take) && status.ok()) status = upstream::SHUT_DOWN_ERROR;
    if (own.callback) own.callback(status);
  };
}

Status write_output(const Kept& kept, const horovod::Handle& handle, int index, std::int64_t rows) {
  std::vector<std::int64_t> shape = kept.in->shape().to_vector();
  shape.front() = rows;
  std::shared_ptr<upstream::Tensor> tensor;
  Status status = allocate(kept, index, {std::move(shape)}, tensor);
  if (status.ok()) copy(*tensor, handle.output().data(), handle.output().size());
  return status;
}

Status write_received(const Kept& kept, const horovod::Handle& handle) {
  const std::vector<std::int32_t> rows(handle.received().begin(), handle.received().end());
  std::shared_ptr<upstream::Tensor> tensor;
  Status status = allocate(kept, 1, {{static_cast<std::int64_t>(rows.size())}}, tensor);
  if (status.ok()) copy(*tensor, rows.data(), rows.size() * sizeof(std::int32_t));
  return status;
}

ConstBuffer input_of(const upstream::Tensor& tensor) {
  return {tensor.data(), static_cast<std::uint64_t>(tensor.shape().num_elements()), type_of(tensor.dtype())};
}

Buffer output_of(const upstream::Tensor* tensor) {
  if (tensor == nullptr) return {};
  const ConstBuffer view = input_of(*tensor);
  return {const_cast<void*>(view.data), view.count, view.type};  // NOLINT: upstream's outputs are const
}

}  // namespace tutti::horovod_adapter
