#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <vector>

#include "tutti/types/buffer.hpp"
#include "tutti/types/reduction.hpp"

namespace tutti::torch_adapter {

/// Throws Error{unsupported} for a tensor that is not dense memory of the host, which `argument` names.
void check_tensor(const at::Tensor& tensor, const char* argument);
/// check_tensor() for all; throws Error{invalid_argument} for an empty list and for tensors of several types.
void check_tensors(const std::vector<at::Tensor>& tensors, const char* argument);
/// The only tensor of a list, which has several only for several devices of one process; Error{unsupported} then.
[[nodiscard]] at::Tensor& only_tensor(std::vector<at::Tensor>& tensors, const char* argument);

/// The elements of a contiguous tensor, for operations that move them. Types that tutti does not have are moved as
/// others of the same size.
[[nodiscard]] Buffer moved(const at::Tensor& tensor);
/// Elements of tutti for `count` elements of the type.
[[nodiscard]] std::uint64_t moved_count(const at::Tensor& like, std::int64_t count);

/// The elements of a contiguous tensor, for operations that reduce them. Throws Error{unsupported} for a type that
/// tutti does not reduce.
[[nodiscard]] Buffer reduced(const at::Tensor& tensor);
/// Throws Error{unsupported} for a reduction that the type of the tensor does not have. Of bool, a sum is "any" and a
/// product is "all", as with the other backends of torch.
[[nodiscard]] Reduction reduction_of(const c10d::ReduceOp& op, const at::Tensor& tensor);

/// A contiguous tensor with the elements of all, one after another: their own memory if it lies so, else a copy.
[[nodiscard]] at::Tensor packed(const std::vector<at::Tensor>& tensors);
/// The same without the elements, for results.
[[nodiscard]] at::Tensor space_for(const std::vector<at::Tensor>& tensors);
/// Copies the elements of `flat` from packed() or space_for() to the tensors, where it is not their memory.
void unpack(const at::Tensor& flat, const std::vector<at::Tensor>& tensors);

}  // namespace tutti::torch_adapter
