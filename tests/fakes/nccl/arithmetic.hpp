#pragma once

#include <cstddef>
#include <vector>

#include "task.hpp"

namespace tutti::test::fake_nccl {

/// Combines the contributions in order of rank, as NCCL does: in the arithmetic of the type, rounded after every step.
/// An average of integers is the divided sum; an average of floating-point numbers is the sum of products with 1/n.
void combine(const Task& task, const std::vector<const std::byte*>& inputs, std::byte* output);

/// The value of a scalar of this type.
[[nodiscard]] double load_scalar(const void* scalar, ncclDataType_t type);

}  // namespace tutti::test::fake_nccl
