#pragma once

#include <string>

#include "tutti/operation.hpp"

namespace tutti {

/// Finds out where the buffers of an operation are that has a device stream or claims to be in device memory, and sets
/// Operation::where to it. A side without elements may point anywhere. Returns what is wrong, one sentence; empty when
/// all is right.
[[nodiscard]] std::string resolve_device_memory(Operation& op, std::uint64_t input_elements,
                                                std::uint64_t output_elements);

}  // namespace tutti
