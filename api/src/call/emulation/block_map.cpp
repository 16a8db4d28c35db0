#include "call/emulation/block_map.hpp"

namespace tutti {

BlockMap::Range BlockMap::range(Extent extent, const BlockLayout& layout, int index) const noexcept {
  switch (extent) {
    case Extent::none:
      return {0, 0};
    case Extent::block:
      return {0, op_.count};
    case Extent::blocks:
      return {op_.count * static_cast<std::uint64_t>(index), op_.count};
    case Extent::vector:
      break;
  }
  std::uint64_t offset = 0;
  if (layout.displacements != nullptr) {
    offset = layout.displacements[index];
  } else {
    for (int before = 0; before < index; ++before) offset += layout.counts[before];
  }
  return {offset, layout.counts[index]};
}

BlockMap::Block BlockMap::sent_to(int peer) const noexcept {
  const OpTraits& traits = op_.traits();
  if (traits.input_root_only && rank_ != op_.root) return {};
  if (traits.output_root_only && peer != op_.root) return {};
  const Range part = range(traits.input, op_.input_layout, peer);
  const std::uint64_t width = size_of(op_.type);
  return {static_cast<const std::byte*>(op_.input) + part.offset * width, nullptr, part.count * width};
}

BlockMap::Block BlockMap::received_from(int peer) const noexcept {
  const OpTraits& traits = op_.traits();
  if (traits.output_root_only && rank_ != op_.root) return {};
  if (traits.input_root_only && peer != op_.root) return {};
  const Range part = range(traits.output, op_.output_layout, peer);
  const std::uint64_t width = size_of(op_.type);
  return {nullptr, static_cast<std::byte*>(op_.output) + part.offset * width, part.count * width};
}

}  // namespace tutti
