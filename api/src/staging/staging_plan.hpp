#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tutti/types/operation.hpp"

namespace tutti {

/// A part of an operation as it is carried out on host memory, and what has to be copied for it.
struct StagedPiece {
  struct Copy {
    std::uint64_t device;  ///< bytes from the beginning of the operation's buffer
    std::uint64_t host;    ///< bytes from the beginning of the piece's host memory
    std::uint64_t bytes;
  };
  Operation operation;           ///< without its buffers, which are host memory
  std::vector<Copy> fetches;     ///< from the input
  std::vector<Copy> deliveries;  ///< to the output
  std::size_t input_bytes = 0;   ///< host memory for the input; blocks are packed
  std::size_t output_bytes = 0;
};

/// How an operation is cut into pieces that are operations themselves: elements i, i+1, ... of every block together.
/// All ranks cut in the same way. Forms with a length per rank stay whole: a rank does not know the others' lengths.
class StagingPlan {
 public:
  /// A piece takes about `piece_bytes` of the larger buffer, if it can be cut at all.
  StagingPlan(const Operation& operation, int ranks, std::uint64_t piece_bytes) noexcept;

  /// At least one, since an operation on nothing is still an operation.
  [[nodiscard]] std::uint64_t pieces() const noexcept { return pieces_; }
  [[nodiscard]] StagedPiece piece(std::uint64_t index) const;

 private:
  [[nodiscard]] std::vector<StagedPiece::Copy> copies(Extent extent, const BlockLayout& layout, std::uint64_t first,
                                                      std::uint64_t count) const;

  const Operation& operation_;
  std::uint64_t ranks_;
  std::uint64_t piece_count_ = 0;  ///< elements of each block
  std::uint64_t pieces_ = 1;
};

}  // namespace tutti
