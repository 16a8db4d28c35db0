#pragma once

#include <cstdint>

#include "tutti/types/operation.hpp"

namespace tutti::native {

/// Calls f(rank, offset, bytes) for the block of every rank in a buffer of that extent, in rank order.
template <typename F>
void for_each_block(Extent extent, const BlockLayout& layout, const Operation& operation, int ranks, F&& f) {
  const std::uint64_t size = size_of(operation.type);
  std::uint64_t packed = 0;
  for (int r = 0; r < ranks; ++r) {
    const std::uint64_t count = extent == Extent::vector ? layout.counts[r] : operation.count;
    const bool placed = extent == Extent::vector && layout.displacements != nullptr;
    f(r, (placed ? layout.displacements[r] : packed) * size, count * size);
    packed += count;
  }
}

}  // namespace tutti::native
