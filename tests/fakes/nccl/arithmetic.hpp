#pragma once

#include <cstddef>
#include <vector>

#include "task.hpp"

namespace tutti::test::fake_nccl {

/// Combines the ranks' contributions in their order, as NCCL does: in the type's own arithmetic, rounded after every
/// step; an average of integers is the sum divided, one of floating numbers a sum of products with 1/n.
void combine(const Task& task, const std::vector<const std::byte*>& inputs, std::byte* output);

/// The value of a number of this type.
[[nodiscard]] double load_scalar(const void* scalar, ncclDataType_t type);

}  // namespace tutti::test::fake_nccl
