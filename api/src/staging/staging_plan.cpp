#include "staging/staging_plan.hpp"

#include <algorithm>

namespace tutti {

StagingPlan::StagingPlan(const Operation& operation, int ranks, std::uint64_t piece_bytes) noexcept
    : operation_(operation), ranks_(static_cast<std::uint64_t>(ranks)), piece_count_(operation.count) {
  const OpTraits& traits = operation.traits();
  const auto is = [&](Extent extent) { return traits.input == extent || traits.output == extent; };
  if (is(Extent::vector) || operation.count == 0) return;
  const std::uint64_t blocks = is(Extent::blocks) ? ranks_ : 1;
  piece_count_ = std::clamp<std::uint64_t>(piece_bytes / size_of(operation.type) / blocks, 1, operation.count);
  pieces_ = (operation.count + piece_count_ - 1) / piece_count_;
}

StagedPiece StagingPlan::piece(std::uint64_t index) const {
  const std::uint64_t first = index * piece_count_;
  const OpTraits& traits = operation_.traits();
  StagedPiece result;
  result.operation = operation_;
  Operation& op = result.operation;
  op.count = std::min(piece_count_, operation_.count - first);
  op.input = nullptr;
  op.output = nullptr;
  op.where = {};
  op.stream = {};
  op.input_layout.displacements = nullptr;
  op.output_layout.displacements = nullptr;
  const auto end_of = [](const std::vector<StagedPiece::Copy>& all) {
    return all.empty() ? 0 : all.back().host + all.back().bytes;
  };
  if (operation_.input != nullptr) {
    result.fetches = copies(traits.input, operation_.input_layout, first, op.count);
    result.input_bytes = end_of(result.fetches);
  }
  if (operation_.output != nullptr) {
    result.deliveries = copies(traits.output, operation_.output_layout, first, op.count);
    result.output_bytes = end_of(result.deliveries);
  }
  return result;
}

std::vector<StagedPiece::Copy> StagingPlan::copies(Extent extent, const BlockLayout& layout, std::uint64_t first,
                                                   std::uint64_t count) const {
  const std::uint64_t width = size_of(operation_.type);
  std::vector<StagedPiece::Copy> all;
  if (extent == Extent::block) all.push_back({first * width, 0, count * width});
  if (extent == Extent::blocks) {
    for (std::uint64_t rank = 0; rank < ranks_; ++rank) {
      all.push_back({(rank * operation_.count + first) * width, rank * count * width, count * width});
    }
  }
  if (extent == Extent::vector) {
    std::uint64_t packed = 0;
    for (std::uint64_t rank = 0; rank < ranks_; ++rank) {
      const std::uint64_t at = layout.displacements != nullptr ? layout.displacements[rank] : packed;
      all.push_back({at * width, packed * width, layout.counts[rank] * width});
      packed += layout.counts[rank];
    }
  }
  return all;
}

}  // namespace tutti
