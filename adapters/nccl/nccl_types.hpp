#pragma once

#include <nccl.h>

#include "tutti/data_type.hpp"
#include "tutti/reduction.hpp"

namespace tutti::nccl_adapter {

/// Type of elements that are only moved: 8-bit floats are bytes. Throws Error{invalid_argument} for an unknown type.
[[nodiscard]] DataType moved_type(ncclDataType_t type);
/// Type of elements that are reduced. Throws Error{invalid_usage} for 8-bit floats, which tutti does not reduce.
[[nodiscard]] DataType reduced_type(ncclDataType_t type);

/// A predefined reduction. Throws Error{invalid_argument} for another one.
[[nodiscard]] Reduction reduction_of(ncclRedOp_t op);

}  // namespace tutti::nccl_adapter
