#pragma once

#include <optional>

#include "tutti/spi/backend.hpp"
#include "tutti/types/operation.hpp"

namespace tutti {

/// A rank that sends another number of elements to a rank than that rank expects.
struct CountMismatch {
  std::int32_t from = -1;
  std::int32_t to = -1;
  std::uint64_t sent = 0;
  std::uint64_t expected = 0;
};

/// Compares the counts of a vector operation (gatherv, alltoallv, ...) between each sender and receiver. Collective:
/// two exchanges of a few bytes per rank. Returns the same mismatch on all ranks, or nothing; nothing for other
/// operations.
[[nodiscard]] std::optional<CountMismatch> compare_vector_counts(spi::BackendCommunicator& backend, int rank, int size,
                                                                 const Operation& operation);

}  // namespace tutti
