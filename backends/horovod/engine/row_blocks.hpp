#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "negotiation/fusion.hpp"
#include "negotiation/message.hpp"

/// Blocks of rows of the tensors of an allgather or a reducescatter. A fused operation has one block for each rank, in
/// which the rank's rows of all tensors follow one another.
namespace tutti::horovod {

/// Rows of a tensor of `rows` rows that a reducescatter gives to a rank: the first ranks get one more.
[[nodiscard]] std::int64_t scattered_rows(std::int64_t rows, int rank, int size) noexcept;

/// Elements of a tensor that belong to a rank.
[[nodiscard]] std::uint64_t block_of(const Response& response, std::size_t tensor, int rank, int size) noexcept;

/// Elements of each rank's block in the operation of a piece.
[[nodiscard]] std::vector<std::uint64_t> block_counts(const Response& response, const Piece& piece, int size);

/// Calls `action(tensor, first, elements)` for the blocks of all tensors in the order of a fused operation: by rank,
/// then by tensor. `first`: the position of the block's first element in its tensor.
template <typename Action>
void for_each_block(const Response& response, const Piece& piece, int size, const Action& action) {
  std::vector<std::uint64_t> next(piece.end - piece.begin, 0);
  for (int rank = 0; rank < size; ++rank) {
    for (std::size_t tensor = piece.begin; tensor < piece.end; ++tensor) {
      std::uint64_t& first = next[tensor - piece.begin];
      const std::uint64_t elements = block_of(response, tensor, rank, size);
      if (elements > 0) action(tensor, first, elements);
      first += elements;
    }
  }
}

}  // namespace tutti::horovod
