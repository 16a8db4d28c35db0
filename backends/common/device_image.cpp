#include "common/device_image.hpp"

#include <cstring>

namespace tutti::common {
namespace {

/// Enough for the widest loads of a device.
constexpr std::uint64_t kAlignment = 256;

std::uint64_t round_up(std::uint64_t bytes) noexcept { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

DeviceImage::DeviceImage(ScratchPool& pool, spi::DeviceRuntime& runtime, const Stream& stream,
                         const Operation& original, int ranks)
    : runtime_(runtime),
      stream_(stream),
      original_(original),
      is_on_host_(original.where.device.is_host()),
      operation_(original) {
  const OpTraits& traits = original.traits();
  if (original.input != nullptr) input_ = parts(traits.input, original.input_layout, ranks);
  if (original.output != nullptr) output_ = parts(traits.output, original.output_layout, ranks);
  const auto end_of = [](const Parts& all) { return all.empty() ? 0 : all.back().packed + all.back().bytes; };
  input_bytes_ = end_of(input_);
  output_bytes_ = end_of(output_);
  const std::uint64_t bytes = round_up(input_bytes_) + output_bytes_;
  if (bytes != 0) on_device_ = pool.take(MemoryKind::device, bytes);
  if (bytes != 0 && is_on_host_) pinned_ = pool.take(MemoryKind::host, bytes);

  operation_.stream = stream;
  operation_.where = {stream.device(), MemoryKind::device};
  operation_.input_layout.displacements = nullptr;
  operation_.output_layout.displacements = nullptr;
  if (original.input != nullptr) operation_.input = bytes != 0 ? on_device_->data() : nullptr;
  if (original.output != nullptr) {
    operation_.output = bytes != 0 ? on_device_->data() + round_up(input_bytes_) : nullptr;
  }
}

DeviceImage::Parts DeviceImage::parts(Extent extent, const BlockLayout& layout, int ranks) const {
  const std::uint64_t width = size_of(original_.type);
  const std::uint64_t block = original_.block_bytes();
  Parts all;
  if (extent == Extent::block) all.push_back({0, 0, block});
  if (extent == Extent::blocks) all.push_back({0, 0, block * static_cast<std::uint64_t>(ranks)});
  if (extent == Extent::vector) {
    std::uint64_t packed = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::uint64_t at = layout.displacements != nullptr ? layout.displacements[rank] * width : packed;
      all.push_back({at, packed, layout.counts[rank] * width});
      packed += layout.counts[rank] * width;
    }
  }
  return all;
}

void DeviceImage::copy(std::byte* to, MemoryKind to_kind, const std::byte* from, MemoryKind from_kind,
                       std::uint64_t bytes) {
  if (bytes == 0) return;
  const Device device = stream_.device();
  copies_.push_back(runtime_.copy(stream_, Buffer(to, bytes, DataType::uint8, {device, to_kind}),
                                  ConstBuffer(from, bytes, DataType::uint8, {device, from_kind})));
}

void DeviceImage::upload() {
  const auto* from = static_cast<const std::byte*>(original_.input);
  for (const Part& part : input_) {
    if (part.bytes == 0) continue;
    if (is_on_host_)
      std::memcpy(pinned_->data() + part.packed, from + part.at, part.bytes);
    else
      copy(on_device_->data() + part.packed, MemoryKind::device, from + part.at, original_.where.kind, part.bytes);
  }
  if (is_on_host_ && input_bytes_ != 0) {
    copy(on_device_->data(), MemoryKind::device, pinned_->data(), MemoryKind::host, input_bytes_);
  }
}

void DeviceImage::download() {
  if (output_bytes_ == 0) return;
  const std::uint64_t begin = round_up(input_bytes_);
  if (is_on_host_) {
    copy(pinned_->data() + begin, MemoryKind::host, on_device_->data() + begin, MemoryKind::device, output_bytes_);
    return;
  }
  auto* const to = static_cast<std::byte*>(original_.output);
  for (const Part& part : output_) {
    copy(to + part.at, original_.where.kind, on_device_->data() + begin + part.packed, MemoryKind::device, part.bytes);
  }
}

void DeviceImage::finish() {
  // The copies have ended: wait() throws their errors and reports them to the observer.
  for (const auto& one : copies_) one->wait();
  copies_.clear();
  if (is_on_host_) {
    auto* const to = static_cast<std::byte*>(original_.output);
    const std::uint64_t begin = round_up(input_bytes_);
    for (const Part& part : output_) {
      if (part.bytes != 0) std::memcpy(to + part.at, pinned_->data() + begin + part.packed, part.bytes);
    }
  }
  on_device_.reset();
  pinned_.reset();
}

}  // namespace tutti::common
