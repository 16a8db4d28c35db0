#include "device_memory.hpp"

#include <algorithm>
#include <new>
#include <optional>

#include "runtime_functions.hpp"

namespace tutti::profiling {

namespace {

std::optional<std::uint64_t> bytes_of(ur::Device device, std::int32_t property) noexcept {
  const auto& functions = runtime_functions();
  std::uint64_t bytes = 0;
  if (functions.device_get_info == nullptr ||
      functions.device_get_info(device, property, sizeof bytes, &bytes, nullptr) != ur::kSuccess)
    return std::nullopt;
  return bytes;
}

}  // namespace

void DeviceMemory::add(ur::Device device) noexcept {
  if (device == nullptr) return;
  try {
    const std::scoped_lock lock(mutex_);
    if (std::ranges::find(known_, device) != known_.end()) return;
    known_.push_back(device);
    const OwnCall own;
    const auto total = bytes_of(device, ur::kDeviceMemorySize);
    const auto free = bytes_of(device, ur::kDeviceMemoryFree);
    if (!total || !free || *free > *total) return;
    places_.push_back({device, *total, UsedMemory(devices_.id_of(device), *total - *free)});
    has_places_.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
    return;
  }
}

void DeviceMemory::sample() noexcept {
  if (!has_places_.load(std::memory_order_relaxed) || !is_recording()) return;
  const OwnCall own;
  const std::scoped_lock lock(mutex_);
  for (Place& place : places_) {
    const auto free = bytes_of(place.device, ur::kDeviceMemoryFree);
    if (free && *free <= place.total) place.memory.change_to(source_, place.total - *free);
  }
}

}  // namespace tutti::profiling
