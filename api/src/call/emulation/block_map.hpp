#pragma once

#include <cstdint>

#include "tutti/types/operation.hpp"

namespace tutti {

/// Any operation that only moves data, as what one rank sends to and receives from each other rank.
class BlockMap {
 public:
  /// A block in bytes; zero bytes: nothing goes between the two.
  struct Block {
    const std::byte* input = nullptr;
    std::byte* output = nullptr;
    std::uint64_t bytes = 0;
  };

  BlockMap(const Operation& op, int rank, int size) noexcept : op_(op), rank_(rank), size_(size) {}

  [[nodiscard]] Block sent_to(int peer) const noexcept;
  [[nodiscard]] Block received_from(int peer) const noexcept;

 private:
  struct Range {
    std::uint64_t offset;
    std::uint64_t count;
  };
  [[nodiscard]] Range range(Extent extent, const BlockLayout& layout, int index) const noexcept;

  const Operation& op_;
  int rank_;
  int size_;
};

}  // namespace tutti
