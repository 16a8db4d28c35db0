#include "sources/tutti/device_ids.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include "sources/common/loaded_library.hpp"
#include "tutti/info/device_info.hpp"
#include "tutti/spi/device.hpp"

namespace tutti::profiling {

namespace {

constinit thread_local bool is_asking = false;

std::uint64_t key_of(Device device) noexcept {
  return std::uint64_t{1} << 63 | std::uint64_t{device.module()} << 32 |
         std::uint64_t{static_cast<std::uint16_t>(device.index())} << 16 |
         static_cast<std::uint16_t>(device.sub_device() + 1);
}

/// As all sources identify a device: the sum of the UUID's halves, made different for parts with the UUID of the whole.
std::uint64_t identity(const DeviceInfo& info, std::uint64_t part) {
  std::array<std::uint64_t, 2> halves = {};
  for (std::size_t i = 0; i < info.uuid.size(); ++i) halves[i / 8] |= std::uint64_t{info.uuid[i]} << (8 * (i % 8));
  std::uint64_t sum = halves[0] + halves[1];
  if (sum == 0)
    sum = std::hash<std::string>()(Device(info.device.module(), static_cast<std::int16_t>(info.device.index())).name());
  sum += part * 0x9E3779B97F4A7C15U;
  return sum == 0 ? 1 : sum;
}

DeviceFacts facts_of(Device device, const std::vector<DeviceInfo>& rows) {
  const auto row_of = [&](Device wanted) { return std::ranges::find(rows, wanted, &DeviceInfo::device); };
  const auto whole = row_of(Device(device.module(), static_cast<std::int16_t>(device.index())));
  const auto part = row_of(device);
  if (whole == rows.end() || part == rows.end()) return {};
  const bool shares_uuid = part->uuid == whole->uuid;
  return {.name = part->name,
          .device = identity(*whole, 0),
          .sub_device = device.sub_device() < 0
                            ? 0
                            : identity(*part, shares_uuid ? static_cast<std::uint64_t>(device.sub_device()) + 1 : 0)};
}

}  // namespace

bool is_asking_devices() noexcept { return is_asking; }

DeviceId DeviceIds::of(Device device) noexcept {
  if (device.is_host()) return 0;
  const std::uint64_t key = key_of(device);
  for (const Slot& slot : slots_) {
    // Acquire: the number is there for whoever sees the key.
    const std::uint64_t known = slot.key.load(std::memory_order_acquire);
    if (known == key) return slot.id;
    if (known == 0) break;
  }
  return add(key, device);
}

bool DeviceIds::is_reported_below(Device device) noexcept {
  if (device.module() >= below_.size()) return false;
  std::atomic<Below>& place = below_[device.module()];
  // Relaxed: threads that meet here find the same.
  Below below = place.load(std::memory_order_relaxed);
  if (below != Below::unknown) return below == Below::yes;
  below = Below::no;
  try {
    const std::string name = device.name();
    for (const auto& [module, file] :
         {std::pair("cuda", "libtutti_source_cuda.so"), std::pair("sycl", "libtutti_source_sycl.so")}) {
      if (name.starts_with(std::string(module) + ":") && source_wanted(module) && is_library_loaded(file))
        below = Below::yes;
    }
  } catch (const std::exception&) {  // NOLINT: no name, no source
  }
  place.store(below, std::memory_order_relaxed);
  return below == Below::yes;
}

DeviceId DeviceIds::add(std::uint64_t key, Device device) noexcept {
  if (is_asking) return 0;
  try {
    is_asking = true;
    // Without the lock: the runtime may have locks of its own. The device is in use, hence its runtime is open.
    std::vector<DeviceInfo> rows;
    try {
      rows = spi::device_runtime(device).devices();
    } catch (const std::exception&) {  // NOLINT: the device is shown by its number
    }
    is_asking = false;
    DeviceFacts facts = facts_of(device, rows);
    const std::string name = facts.name.empty() ? device.name() : std::string(facts.name);
    facts.name = name;
    if (facts.device == 0) facts.device = key;
    const DeviceId id = add_device(facts);
    const std::scoped_lock lock(mutex_);
    for (Slot& slot : slots_) {
      const std::uint64_t known = slot.key.load(std::memory_order_relaxed);
      if (known == key) return slot.id;
      if (known != 0) continue;
      slot.id = id;
      slot.key.store(key, std::memory_order_release);
      break;
    }
    return id;
  } catch (const std::exception&) {
    is_asking = false;
    return 0;
  }
}

}  // namespace tutti::profiling
