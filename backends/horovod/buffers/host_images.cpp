#include "buffers/host_images.hpp"

#include <algorithm>
#include <utility>

namespace tutti::horovod {

namespace {

constexpr std::size_t kAlignment = 64;

std::size_t rounded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

[[nodiscard]] bool is_on_device(const EntryPointer& entry) {
  return entry != nullptr && entry->operation.where.kind == MemoryKind::device;
}

std::size_t input_bytes(const Entry& entry) { return entry.operation.block_bytes(); }

/// Of an image of its own; none if the output is the input.
std::size_t output_bytes(const Entry& entry) {
  if (entry.allocates || entry.operation.output == entry.operation.input) return 0;
  return entry.output_capacity * size_of(entry.operation.type);
}

}  // namespace

HostImages::HostImages(DevicePlace* place, std::span<const EntryPointer> entries) {
  std::size_t bytes = 0;
  for (const EntryPointer& entry : entries) {
    if (entry != nullptr && entry->ready != nullptr) {
      is_on_device(entry) ? place->wait_for(*entry->ready) : entry->ready->wait();
    }
    if (!is_on_device(entry)) continue;
    place_ = place;
    bytes += rounded(input_bytes(*entry)) + rounded(output_bytes(*entry));
  }
  if (place_ == nullptr) return;
  memory_ = place->take_pinned(std::max(bytes, kAlignment));
  std::byte* next = memory_.data();
  for (const EntryPointer& entry : entries) {
    if (!is_on_device(entry)) continue;
    Operation& operation = entry->operation;
    entry->device_output = operation.output;
    const std::size_t in = input_bytes(*entry);
    const std::size_t out = output_bytes(*entry);
    place->fetch(next, operation.input, in);
    operation.input = next;
    next += rounded(in);
    if (!entry->allocates) operation.output = out > 0 ? next : const_cast<void*>(operation.input);
    next += rounded(out);
  }
  place->settle();
}

void HostImages::give_back(std::span<const EntryPointer> entries) {
  if (place_ == nullptr) return;
  for (const EntryPointer& entry : entries) {
    if (!is_on_device(entry) || entry->error) continue;
    const std::size_t bytes = entry->result_count * size_of(entry->operation.type);
    if (entry->allocates) {
      entry->allocated = DeviceBlock(place_->stream(), MemoryKind::device, bytes);
      entry->device_output = entry->allocated.data();
    }
    place_->store(entry->device_output, entry->operation.output, bytes);
    entry->operation.output = entry->device_output;
  }
  place_->settle();
  place_->give_pinned(std::move(memory_));
  memory_ = {};
  place_ = nullptr;
}

}  // namespace tutti::horovod
