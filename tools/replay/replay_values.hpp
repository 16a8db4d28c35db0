#pragma once

#include <cstdint>
#include <string>

#include "record/record.hpp"

namespace tutti::tools {

/// Numbers for the buffers of one call of an operation, and the results that they give. Equal on all ranks for equal
/// seeds.
class ReplayValues {
 public:
  /// `rank` and `size`: of the communicator.
  ReplayValues(const replay::RecordedOperation& op, int rank, int size, std::uint64_t seed) noexcept
      : op_(op), rank_(rank), size_(size), seed_(seed) {}

  /// Fills this rank's input; `input` is null where it has none.
  void fill(void* input) const;
  /// Compares this rank's result; empty when it is right, else "element 5 is 3 instead of 7".
  [[nodiscard]] std::string check(const void* output) const;

 private:
  /// Element `offset` of block `block` of a rank's input.
  [[nodiscard]] std::uint32_t value(int rank, int block, std::uint64_t offset) const noexcept;
  /// The reduction of the inputs of all ranks.
  [[nodiscard]] double combined(int block, std::uint64_t offset) const noexcept;
  template <typename T>
  [[nodiscard]] std::string check_block(const T* output, std::uint64_t first, std::uint64_t count, int source,
                                        int block) const;
  template <typename T>
  [[nodiscard]] std::string check_all(const T* output) const;

  const replay::RecordedOperation& op_;
  int rank_;
  int size_;
  std::uint64_t seed_;
};

}  // namespace tutti::tools
