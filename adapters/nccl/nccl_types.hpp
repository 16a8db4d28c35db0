#pragma once

#include <nccl.h>

#include "tutti/types/data_type.hpp"
#include "tutti/types/reduction.hpp"

namespace tutti::nccl_adapter {

/// Throws Error{invalid_argument} for an unknown type.
[[nodiscard]] DataType element_type(ncclDataType_t type);

/// A predefined reduction. Throws Error{invalid_argument} for another one.
[[nodiscard]] Reduction reduction_of(ncclRedOp_t op);

}  // namespace tutti::nccl_adapter
