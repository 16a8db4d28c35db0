#include "devices.hpp"

#include <cstring>
#include <new>

#include "sources/common/device_identity.hpp"

namespace tutti::profiling::ze {

Devices::Devices(const Loader& loader) noexcept : loader_(loader) {
  const OwnCall own;
  try {
    const auto drivers =
        list_handles<ze_driver_handle_t>([&](auto* count, auto* to) { return loader.driver_get(count, to); });
    for (const ze_driver_handle_t driver : drivers) {
      const auto devices =
          list_handles<ze_device_handle_t>([&](auto* count, auto* to) { return loader.device_get(driver, count, to); });
      for (const ze_device_handle_t device : devices) {
        add(device, device, 0);
        const auto parts = list_handles<ze_device_handle_t>(
            [&](auto* count, auto* to) { return loader.device_get_sub_devices(device, count, to); });
        for (std::size_t i = 0; i < parts.size(); ++i) add(parts[i], device, i + 1);
      }
    }
  } catch (const std::bad_alloc&) {
    entries_.clear();
  }
}

void Devices::add(ze_device_handle_t device, ze_device_handle_t root, std::uint64_t number) {
  const auto get = [&](ze_device_handle_t from) {
    ze_device_properties_t properties = {};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;  // the timer's unit is cycles per second
    if (loader_.device_get_properties(from, &properties) != ZE_RESULT_SUCCESS) properties.timerResolution = 0;
    return properties;
  };
  const ze_device_properties_t own = get(device);
  const ze_device_properties_t whole = root == device ? own : get(root);
  DeviceFacts facts{.name = own.name, .device = device_identity(whole.uuid.id)};
  if (root != device) {
    const bool is_shared = std::memcmp(own.uuid.id, whole.uuid.id, sizeof own.uuid.id) == 0;
    facts.sub_device = device_identity(own.uuid.id, is_shared ? number : 0);
  }
  const std::uint32_t bits = own.kernelTimestampValidBits;
  entries_.push_back({device, root, own.subdeviceId, add_device(facts),
                      own.timerResolution == 0 ? 0 : 1e9 / static_cast<double>(own.timerResolution),
                      bits == 0 || bits >= 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1});
}

const Devices::Entry* Devices::find(ze_device_handle_t device) const noexcept {
  for (const Entry& entry : entries_) {
    if (entry.handle == device) return &entry;
  }
  return nullptr;
}

DeviceId Devices::id_of(ze_device_handle_t device) const noexcept {
  const Entry* entry = find(device);
  return entry == nullptr ? 0 : entry->id;
}

bool Devices::host_times(ze_device_handle_t device, const ze_kernel_timestamp_data_t& times, std::uint64_t& begin_ns,
                         std::uint64_t& end_ns) const noexcept {
  const Entry* entry = find(device);
  if (entry == nullptr || entry->nanoseconds_per_tick == 0) return false;
  const OwnCall own;
  std::uint64_t host = 0;
  std::uint64_t now = 0;
  const std::uint64_t before = now_ns();
  if (loader_.device_get_global_timestamps(device, &host, &now) != ZE_RESULT_SUCCESS) return false;
  const std::uint64_t middle = before + (now_ns() - before) / 2;
  // The command has ended: both times are in the past, by less than one overflow of the timestamps.
  const auto ago = [&](std::uint64_t ticks) {
    const std::uint64_t difference = (now - ticks) & entry->mask;
    return static_cast<std::uint64_t>(static_cast<double>(difference) * entry->nanoseconds_per_tick);
  };
  const std::uint64_t duration = static_cast<std::uint64_t>(
      static_cast<double>((times.kernelEnd - times.kernelStart) & entry->mask) * entry->nanoseconds_per_tick);
  end_ns = middle - ago(times.kernelEnd);
  begin_ns = end_ns - duration;
  return true;
}

}  // namespace tutti::profiling::ze
