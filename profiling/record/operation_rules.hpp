#pragma once

#include "record/record.hpp"

namespace tutti::replay {

/// Throws LineError unless the operation is valid in a communicator of `size` ranks; 0: of any number.
void check_operation(const RecordedOperation& operation, int size);

/// Whether a rank of a communicator (of `size` ranks) reads an input or gets a result, and their elements.
[[nodiscard]] std::uint64_t input_elements(const RecordedOperation& operation, int rank, int size) noexcept;
[[nodiscard]] std::uint64_t output_elements(const RecordedOperation& operation, int rank, int size) noexcept;

/// Message size as benchmarks define it (message_bytes() of an Operation); of gatherv and scatterv on ranks without the
/// list: this rank's block.
[[nodiscard]] std::uint64_t bytes_of(const RecordedOperation& operation, int size) noexcept;

}  // namespace tutti::replay
