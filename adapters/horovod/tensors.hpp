#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "horovod/common/operations.h"
#include "result.hpp"
#include "tutti/horovod.hpp"

/// Tensors of a framework as those of tutti.
namespace tutti::horovod_adapter {

namespace upstream = ::horovod::common;

/// Objects that must live until a tensor is complete.
struct Kept {
  std::shared_ptr<upstream::OpContext> context = {};
  std::shared_ptr<upstream::Tensor> in = {};
  std::shared_ptr<upstream::Tensor> out = {};
  upstream::StatusCallback callback = {};
};

/// Reads the result of a complete tensor into the framework.
using Read = std::function<upstream::Status(const Kept& kept, const horovod::Handle& handle)>;

/// Callback of the engine that reads the result, if there is one, and calls the framework's.
[[nodiscard]] horovod::Callback completion(Kept kept, std::shared_ptr<Result> result = {}, Read read = {});

/// Copies an output of the engine to output `index` of the context. `rows`: its first dimension.
[[nodiscard]] upstream::Status write_output(const Kept& kept, const horovod::Handle& handle, int index,
                                            std::int64_t rows);
/// Writes the numbers of received rows as an int32 tensor to output 1.
[[nodiscard]] upstream::Status write_received(const Kept& kept, const horovod::Handle& handle);

/// Throw Error{invalid_argument} for a type that tutti does not have.
[[nodiscard]] ConstBuffer input_of(const upstream::Tensor& tensor);
/// Null gives an output that the engine allocates.
[[nodiscard]] Buffer output_of(const upstream::Tensor* tensor);

/// The same error as a status of upstream.
[[nodiscard]] upstream::Status status_of(const Error& error);

}  // namespace tutti::horovod_adapter
