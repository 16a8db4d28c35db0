// Driver queries for a map of the machine: links between devices, and free memory.
#include <algorithm>
#include <optional>

#include "level_zero_devices.hpp"
#include "tutti/spi/environment.hpp"

namespace tutti::level_zero_device {

namespace {

/// The vendor's own links that join two devices directly.
std::vector<ze_fabric_edge_handle_t> edges_between(const Api& api, ze_device_handle_t from, ze_device_handle_t to) {
  ze_fabric_vertex_handle_t a = nullptr;
  ze_fabric_vertex_handle_t b = nullptr;
  std::uint32_t count = 0;
  if (!api.try_call(api.device_get_fabric_vertex, from, &a) || !api.try_call(api.device_get_fabric_vertex, to, &b) ||
      !api.try_call(api.fabric_edge_get, a, b, &count, nullptr) || count == 0) {
    return {};
  }
  std::vector<ze_fabric_edge_handle_t> edges(count);
  if (!api.try_call(api.fabric_edge_get, a, b, &count, edges.data())) return {};
  edges.resize(count);
  return edges;
}

/// Bandwidth in one direction; 0 where the driver does not give it, or not in units of time.
double bandwidth_of(const Api& api, ze_fabric_edge_handle_t edge) {
  ze_fabric_edge_exp_properties_t properties = {};
  properties.stype = ZE_STRUCTURE_TYPE_FABRIC_EDGE_EXP_PROPERTIES;
  if (!api.try_call(api.fabric_edge_get_properties, edge, &properties)) return 0.0;
  return properties.bandwidthUnit == ZE_BANDWIDTH_UNIT_BYTES_PER_NANOSEC ? properties.bandwidth : 0.0;
}

/// The handle of a card in system management; null where there is none.
zes_device_handle_t managed_device(const Api& api, const DeviceEntry& entry) {
  if (!api.sysman_init) {
    // Loaders without zesInit use the same handles, valid only if this variable was set before the driver started.
    const bool is_on = spi::environment("ZES_ENABLE_SYSMAN") == "1";
    return is_on ? reinterpret_cast<zes_device_handle_t>(entry.handle) : nullptr;
  }
  std::uint32_t count = 0;
  if (!api.try_call(api.sysman_init, 0U) || !api.try_call(api.sysman_driver_get, &count, nullptr)) return nullptr;
  std::vector<zes_driver_handle_t> drivers(count);
  if (!api.try_call(api.sysman_driver_get, &count, drivers.data())) return nullptr;
  for (const zes_driver_handle_t driver : drivers) {
    if (!api.try_call(api.sysman_device_get, driver, &count, nullptr)) continue;
    std::vector<zes_device_handle_t> devices(count);
    if (!api.try_call(api.sysman_device_get, driver, &count, devices.data())) continue;
    for (const zes_device_handle_t device : devices) {
      zes_pci_properties_t pci = {};
      pci.stype = ZES_STRUCTURE_TYPE_PCI_PROPERTIES;
      if (!api.try_call(api.sysman_get_pci, device, &pci)) continue;
      const zes_pci_address_t& at = pci.address;
      if (entry.address == pci_text({at.domain, at.bus, at.device, at.function})) return device;
    }
  }
  return nullptr;
}

}  // namespace

bool share_card(const DeviceEntry& a, const DeviceEntry& b) {
  if (a.number.index() == b.number.index()) return true;
  // Tiles that the driver shows as devices of their own still have the address of their card.
  return a.driver == b.driver && !a.address.empty() && a.address == b.address;
}

std::optional<DeviceLink> find_link(const Api& api, const Endpoint& from, const Endpoint& to) {
  DeviceLink link;
  link.from = from.entry.number;
  link.to = to.entry.number;
  if (share_card(from.entry, to.entry)) {
    link.kind = DeviceLink::Kind::same_card;
    return link;
  }
  if (from.entry.driver != to.entry.driver) return std::nullopt;
  std::size_t count = 0;
  bool can_access = false;
  for (const ze_device_handle_t near : from.vertices) {
    for (const ze_device_handle_t far : to.vertices) {
      for (const ze_fabric_edge_handle_t edge : edges_between(api, near, far)) {
        ++count;
        link.gb_per_s += bandwidth_of(api, edge);
      }
      ze_bool_t answer = 0;
      can_access |= api.try_call(api.device_can_access_peer, near, far, &answer) && answer != 0;
    }
  }
  if (count > 0) {
    link.kind = DeviceLink::Kind::fabric;
    link.name = "XL" + std::to_string(count);
  }
  return count > 0 || can_access ? std::optional(link) : std::nullopt;
}

std::uint64_t free_memory(const Api& api, const DeviceEntry& entry, bool is_whole_card) {
  const zes_device_handle_t device = managed_device(api, entry);
  std::uint32_t count = 0;
  if (device == nullptr || !api.try_call(api.sysman_enum_memory, device, &count, nullptr)) return 0;
  std::vector<zes_mem_handle_t> modules(count);
  if (!api.try_call(api.sysman_enum_memory, device, &count, modules.data())) return 0;
  std::uint64_t bytes = 0;
  for (const zes_mem_handle_t module : modules) {
    zes_mem_properties_t properties = {};
    properties.stype = ZES_STRUCTURE_TYPE_MEM_PROPERTIES;
    zes_mem_state_t state = {};
    state.stype = ZES_STRUCTURE_TYPE_MEM_STATE;
    if (!api.try_call(api.sysman_memory_properties, module, &properties) ||
        !api.try_call(api.sysman_memory_state, module, &state)) {
      return 0;
    }
    const bool is_elsewhere =
        !is_whole_card && properties.onSubdevice != 0 && properties.subdeviceId != entry.properties.subdeviceId;
    if (!is_elsewhere) bytes += state.free;
  }
  return bytes;
}

}  // namespace tutti::level_zero_device
