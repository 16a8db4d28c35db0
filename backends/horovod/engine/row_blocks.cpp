#include "engine/row_blocks.hpp"

namespace tutti::horovod {

std::int64_t scattered_rows(std::int64_t rows, int rank, int size) noexcept {
  return rows / size + (rank < rows % size ? 1 : 0);
}

std::uint64_t block_of(const Response& response, std::size_t tensor, int rank, int size) noexcept {
  const bool gathers = response.kind == MessageKind::allgather;
  const std::int64_t rows =
      gathers ? response.sizes[tensor * static_cast<std::size_t>(size) + static_cast<std::size_t>(rank)]
              : scattered_rows(response.sizes[tensor], rank, size);
  return static_cast<std::uint64_t>(rows) * response.row_counts[tensor];
}

std::vector<std::uint64_t> block_counts(const Response& response, const Piece& piece, int size) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(size), 0);
  for (int rank = 0; rank < size; ++rank) {
    for (std::size_t tensor = piece.begin; tensor < piece.end; ++tensor)
      counts[static_cast<std::size_t>(rank)] += block_of(response, tensor, rank, size);
  }
  return counts;
}

}  // namespace tutti::horovod
