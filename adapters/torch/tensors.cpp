#include "tensors.hpp"

#include <ATen/ATen.h>

#include <string>

#include "tutti/error.hpp"

namespace tutti::torch_adapter {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw Error(ErrorCode::unsupported, text); }

struct ElementType {
  DataType type;
  std::uint64_t per_element = 1;  ///< elements of `type` in one of the tensor
};

/// By size, for types that are moved only.
ElementType type_of_size(std::size_t size) {
  switch (size) {
    case 2:
      return {DataType::uint16};
    case 4:
      return {DataType::uint32};
    case 8:
      return {DataType::uint64};
    case 16:
      return {DataType::uint64, 2};
    default:
      return {DataType::uint8, size};
  }
}

/// The type of tutti with the same values; `is_known` is false for one that stands for the size only.
ElementType element_type(const at::Tensor& tensor, bool& is_known) {
  is_known = true;
  switch (tensor.scalar_type()) {
    case at::kByte:
    case at::kBool:
      return {DataType::uint8};
    case at::kChar:
      return {DataType::int8};
    case at::kShort:
      return {DataType::int16};
    case at::kInt:
      return {DataType::int32};
    case at::kLong:
      return {DataType::int64};
    case at::kHalf:
      return {DataType::float16};
    case at::kBFloat16:
      return {DataType::bfloat16};
    case at::kFloat:
      return {DataType::float32};
    case at::kDouble:
      return {DataType::float64};
    case at::kComplexFloat:
      return {DataType::float32, 2};
    case at::kComplexDouble:
      return {DataType::float64, 2};
    default:
      is_known = false;
      return type_of_size(tensor.element_size());
  }
}

Buffer buffer_of(const at::Tensor& tensor, ElementType element) {
  return {tensor.data_ptr(), static_cast<std::uint64_t>(tensor.numel()) * element.per_element, element.type};
}

Reduction reduction_of_bool(c10d::ReduceOp::RedOpType op) {
  switch (op) {
    case c10d::ReduceOp::SUM:
    case c10d::ReduceOp::MAX:
    case c10d::ReduceOp::BOR:
      return Reduction::logical_or;
    case c10d::ReduceOp::PRODUCT:
    case c10d::ReduceOp::MIN:
    case c10d::ReduceOp::BAND:
      return Reduction::logical_and;
    case c10d::ReduceOp::BXOR:
      return Reduction::logical_xor;
    default:
      refuse("bool tensors have no average; convert them to a number type");
  }
}

bool lie_together(const std::vector<at::Tensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = tensors[i];
    if (!tensor.is_contiguous()) return false;
    if (i == 0) continue;
    const at::Tensor& before = tensors[i - 1];
    if (!tensor.storage().is_alias_of(before.storage()) ||
        before.storage_offset() + before.numel() != tensor.storage_offset())
      return false;
  }
  return true;
}

std::int64_t elements_of(const std::vector<at::Tensor>& tensors) {
  std::int64_t count = 0;
  for (const at::Tensor& tensor : tensors) count += tensor.numel();
  return count;
}

at::Tensor own_memory(const std::vector<at::Tensor>& tensors) {
  return tensors.front().detach().as_strided({elements_of(tensors)}, {1}, tensors.front().storage_offset());
}

}  // namespace

void check_tensor(const at::Tensor& tensor, const char* argument) {
  if (!tensor.defined()) throw Error(ErrorCode::invalid_argument, std::string(argument) + " is an undefined tensor");
  if (tensor.layout() != at::kStrided) {
    refuse(std::string(argument) + " is a sparse tensor; the backend tutti takes dense ones, see Tensor.to_dense()");
  }
  if (!tensor.device().is_cpu()) {
    refuse(std::string(argument) + " is on " + tensor.device().str() +
           "; the backend tutti of torch takes tensors on the CPU");
  }
}

void check_tensors(const std::vector<at::Tensor>& tensors, const char* argument) {
  if (tensors.empty()) throw Error(ErrorCode::invalid_argument, std::string(argument) + " is an empty list of tensors");
  for (const at::Tensor& tensor : tensors) {
    check_tensor(tensor, argument);
    if (tensor.scalar_type() != tensors.front().scalar_type()) {
      throw Error(ErrorCode::invalid_argument, std::string(argument) + " has tensors of the types " +
                                                   c10::toString(tensors.front().scalar_type()) + " and " +
                                                   c10::toString(tensor.scalar_type()) + "; one type is needed");
    }
  }
}

at::Tensor& only_tensor(std::vector<at::Tensor>& tensors, const char* argument) {
  if (tensors.size() != 1) {
    refuse(std::string(argument) + " has " + std::to_string(tensors.size()) +
           " tensors; the backend tutti takes one per process");
  }
  check_tensor(tensors.front(), argument);
  return tensors.front();
}

Buffer moved(const at::Tensor& tensor) {
  bool ignored = false;
  return buffer_of(tensor, element_type(tensor, ignored));
}

std::uint64_t moved_count(const at::Tensor& like, std::int64_t count) {
  bool ignored = false;
  return static_cast<std::uint64_t>(count) * element_type(like, ignored).per_element;
}

Buffer reduced(const at::Tensor& tensor) {
  bool is_known = false;
  const ElementType element = element_type(tensor, is_known);
  if (!is_known) {
    refuse(std::string("tensors of type ") + c10::toString(tensor.scalar_type()) +
           " cannot be reduced; convert them to another type");
  }
  return buffer_of(tensor, element);
}

Reduction reduction_of(const c10d::ReduceOp& op, const at::Tensor& tensor) {
  const auto kind = static_cast<c10d::ReduceOp::RedOpType>(op);
  if (tensor.scalar_type() == at::kBool) return reduction_of_bool(kind);
  if (tensor.is_complex() && kind != c10d::ReduceOp::SUM && kind != c10d::ReduceOp::AVG)
    refuse("complex tensors have only the reductions SUM and AVG");
  switch (kind) {
    case c10d::ReduceOp::SUM:
      return Reduction::sum;
    case c10d::ReduceOp::AVG:
      return Reduction::average;
    case c10d::ReduceOp::PRODUCT:
      return Reduction::product;
    case c10d::ReduceOp::MIN:
      return Reduction::min;
    case c10d::ReduceOp::MAX:
      return Reduction::max;
    case c10d::ReduceOp::BAND:
      return Reduction::bit_and;
    case c10d::ReduceOp::BOR:
      return Reduction::bit_or;
    case c10d::ReduceOp::BXOR:
      return Reduction::bit_xor;
    default:
      refuse("the reduction PREMUL_SUM is not served; multiply the tensor and use SUM");
  }
}

at::Tensor packed(const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  if (lie_together(tensors)) return own_memory(tensors);
  at::Tensor flat = at::empty({elements_of(tensors)}, tensors.front().options().requires_grad(false));
  std::int64_t begin = 0;
  for (const at::Tensor& tensor : tensors) {
    flat.narrow(0, begin, tensor.numel()).view(tensor.sizes()).copy_(tensor);
    begin += tensor.numel();
  }
  return flat;
}

at::Tensor space_for(const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  if (lie_together(tensors)) return own_memory(tensors);
  return at::empty({elements_of(tensors)}, tensors.front().options().requires_grad(false));
}

void unpack(const at::Tensor& flat, const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  std::int64_t begin = 0;
  const bool is_own_memory = lie_together(tensors);
  for (const at::Tensor& tensor : tensors) {
    if (!is_own_memory) at::Tensor(tensor).copy_(flat.narrow(0, begin, tensor.numel()).view(tensor.sizes()));
    begin += tensor.numel();
  }
}

}  // namespace tutti::torch_adapter
