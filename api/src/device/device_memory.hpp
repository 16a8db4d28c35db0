#pragma once

#include <string>

#include "tutti/types/operation.hpp"

namespace tutti {

/// For an operation with a device stream or with buffers given as device memory: finds out where the buffers are and
/// sets Operation::where. A buffer without elements may be any pointer. Returns the error as one sentence, empty if
/// there is none.
[[nodiscard]] std::string resolve_device_memory(Operation& op, std::uint64_t input_elements,
                                                std::uint64_t output_elements);

}  // namespace tutti
