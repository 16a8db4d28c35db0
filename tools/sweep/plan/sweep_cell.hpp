#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tutti/types/data_type.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::tools {

/// One cell of the sweep's table: an operation at a size.
struct SweepCell {
  OpKind op = OpKind::allreduce;
  std::uint64_t bytes = 0;  ///< requested size
  bool in_place = false;    ///< input and output are the same memory

  friend bool operator==(const SweepCell&, const SweepCell&) = default;
};

/// "allreduce:1048576", "allreduce:1048576:in-place"
[[nodiscard]] std::string to_text(const SweepCell& cell);
/// Cells from to_text() joined by commas. Throws UsageError.
[[nodiscard]] std::vector<SweepCell> parse_cells(std::string_view text);

/// Whether the sweep can measure the operation: true for collectives that move data.
[[nodiscard]] bool is_sweepable(OpKind op) noexcept;

/// Whether input and output of the operation may be the same memory: all but the exchanges of blocks between all ranks.
[[nodiscard]] bool allows_in_place(OpKind op) noexcept;

/// Element counts of a cell for a type and a number of ranks.
struct CellShape {
  OpKind op = OpKind::allreduce;
  bool in_place = false;  ///< one buffer holds input and output; the shorter one is this rank's block of the other
  DataType type = DataType::float32;
  int ranks = 1;
  std::uint64_t count = 0;         ///< elements of a block
  std::uint64_t input_count = 0;   ///< elements of the input of one rank
  std::uint64_t output_count = 0;  ///< elements of the output of one rank

  CellShape(const SweepCell& cell, DataType element_type, int rank_count);

  /// Message size as nccl-tests counts it: the larger of a rank's input and output.
  [[nodiscard]] std::uint64_t message_bytes() const noexcept;
  /// First elements of a rank's input and output in its buffer: 0 unless the cell is in place.
  [[nodiscard]] std::uint64_t input_offset(int rank) const noexcept;
  [[nodiscard]] std::uint64_t output_offset(int rank) const noexcept;
  /// Memory of all ranks together: the buffers, and the larger one again for copies made by a library.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
};

/// A cell of the operation for each size. Sizes are rounded to whole elements on every rank; a size that gives as many
/// elements as an earlier one is left out.
[[nodiscard]] std::vector<SweepCell> distinct_cells(OpKind op, std::span<const std::uint64_t> sizes, DataType type,
                                                    int ranks);

inline constexpr int kRoot = 0;

/// Fills a rank's input with numbers that depend on rank and position and whose sum over all ranks is exact in the
/// type.
void fill_input(const CellShape& shape, int rank, std::uint32_t seed, void* input);

/// Whether this rank gets a result from the operation.
[[nodiscard]] bool has_result(const CellShape& shape, int rank) noexcept;

/// Compares elements [first, first + count) of a rank's result with the result expected from fill_input() on all ranks.
/// Empty when all are right, otherwise "element 5 is 3 instead of 7".
[[nodiscard]] std::string check_output(const CellShape& shape, int rank, std::uint32_t seed, const void* output,
                                       std::uint64_t first, std::uint64_t count);

/// Positions for a spot check: the first, the last and some between them.
[[nodiscard]] std::vector<std::uint64_t> probe_positions(std::uint64_t count);

}  // namespace tutti::tools
