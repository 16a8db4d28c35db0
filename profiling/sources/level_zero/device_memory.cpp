#include "device_memory.hpp"

#include <algorithm>
#include <new>

namespace tutti::profiling::ze {

namespace {

bool is_same_card(const zes_pci_address_t& managed, const ze_pci_address_ext_t& device) noexcept {
  return managed.domain == device.domain && managed.bus == device.bus && managed.device == device.device &&
         managed.function == device.function;
}

}  // namespace

DeviceMemory::DeviceMemory(const Loader& loader, const Devices& devices, SourceId source) noexcept
    : loader_(loader), source_(source) {
  if (!loader.tells_memory()) return;
  const OwnCall own;
  try {
    for (const Devices::Entry& entry : devices.all()) {
      if (entry.handle != entry.root) continue;
      const zes_device_handle_t managed = managed_device(entry.handle);
      if (managed != nullptr) add_modules(entry, managed, devices);
    }
    std::erase_if(places_, [&](Place& place) {
      std::uint64_t used = 0;
      const bool is_told = used_of(place, used);
      place.memory = UsedMemory(place.device, used);
      return !is_told;
    });
  } catch (const std::bad_alloc&) {
    places_.clear();
  }
}

/// The handle of a card in system management; null where there is none.
zes_device_handle_t DeviceMemory::managed_device(ze_device_handle_t device) const {
  // A program that sets this variable uses the same handles for both, and may not be given a second set of them.
  if (is_switched_on("ZES_ENABLE_SYSMAN")) return reinterpret_cast<zes_device_handle_t>(device);
  ze_pci_ext_properties_t card = {};
  card.stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES;
  if (loader_.sysman_init == nullptr || loader_.sysman_driver_get == nullptr || loader_.sysman_device_get == nullptr ||
      loader_.sysman_get_pci == nullptr || loader_.device_get_pci == nullptr ||
      loader_.device_get_pci(device, &card) != ZE_RESULT_SUCCESS || loader_.sysman_init(0) != ZE_RESULT_SUCCESS)
    return nullptr;
  const auto drivers =
      list_handles<zes_driver_handle_t>([&](auto* count, auto* to) { return loader_.sysman_driver_get(count, to); });
  for (const zes_driver_handle_t driver : drivers) {
    const auto managed = list_handles<zes_device_handle_t>(
        [&](auto* count, auto* to) { return loader_.sysman_device_get(driver, count, to); });
    for (const zes_device_handle_t candidate : managed) {
      zes_pci_properties_t properties = {};
      properties.stype = ZES_STRUCTURE_TYPE_PCI_PROPERTIES;
      if (loader_.sysman_get_pci(candidate, &properties) == ZE_RESULT_SUCCESS &&
          is_same_card(properties.address, card.address))
        return candidate;
    }
  }
  return nullptr;
}

void DeviceMemory::add_modules(const Devices::Entry& root, zes_device_handle_t managed, const Devices& devices) {
  const auto modules = list_handles<zes_mem_handle_t>(
      [&](auto* count, auto* to) { return loader_.sysman_enumerate_memory(managed, count, to); });
  const auto is_part = [&](const Devices::Entry& entry) { return entry.root == root.handle && &entry != &root; };
  const bool has_parts = std::ranges::any_of(devices.all(), is_part);
  for (const zes_mem_handle_t module : modules) {
    zes_mem_properties_t properties = {};
    properties.stype = ZES_STRUCTURE_TYPE_MEM_PROPERTIES;
    if (loader_.sysman_memory_properties(module, &properties) != ZE_RESULT_SUCCESS) continue;
    const Devices::Entry* owner = &root;
    if (properties.onSubdevice != 0) {
      // The query for a device that is itself a tile lists the modules of all tiles of its card.
      const auto is_owner = [&](const Devices::Entry& entry) {
        return entry.sub_number == properties.subdeviceId && (has_parts ? is_part(entry) : &entry == &root);
      };
      const auto found = std::ranges::find_if(devices.all(), is_owner);
      if (found == devices.all().end()) continue;
      owner = &*found;
    }
    const auto known = std::ranges::find(places_, owner->id, &Place::device);
    if (known != places_.end())
      known->modules.push_back(module);
    else
      places_.push_back({owner->id, {module}, {}});
  }
}

bool DeviceMemory::used_of(const Place& place, std::uint64_t& bytes) const noexcept {
  bytes = 0;
  for (const zes_mem_handle_t module : place.modules) {
    zes_mem_state_t state = {};
    state.stype = ZES_STRUCTURE_TYPE_MEM_STATE;
    if (loader_.sysman_memory_state(module, &state) != ZE_RESULT_SUCCESS || state.free > state.size) return false;
    bytes += state.size - state.free;
  }
  return true;
}

void DeviceMemory::sample() noexcept {
  if (places_.empty() || !is_recording()) return;
  const OwnCall own;
  const std::scoped_lock lock(mutex_);
  for (Place& place : places_) {
    std::uint64_t used = 0;
    if (used_of(place, used)) place.memory.change_to(source_, used);
  }
}

}  // namespace tutti::profiling::ze
