#include "level_zero_devices.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"

namespace tutti::level_zero_device {

namespace {

/// Result of a function that fills in a list: called for the count, then for the list.
template <typename Handle, typename Function, typename... Arguments>
std::vector<Handle> list_of(const Api& api, const Function& function, Arguments... arguments) {
  std::uint32_t count = 0;
  api.call(function, arguments..., &count, nullptr);
  std::vector<Handle> handles(count);
  if (count > 0) api.call(function, arguments..., &count, handles.data());
  handles.resize(count);
  return handles;
}

std::string address_of(const Api& api, ze_device_handle_t handle) {
  ze_pci_ext_properties_t properties = {};
  properties.stype = ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES;
  if (!api.try_call(api.device_get_pci, handle, &properties)) return {};
  return pci_text(properties.address);
}

int numa_node_of(const std::string& address) {
  int node = -1;
  if (!address.empty()) std::ifstream("/sys/bus/pci/devices/" + address + "/numa_node") >> node;
  return node;
}

std::string mask_hint() {
  const auto mask = spi::environment("ZE_AFFINITY_MASK");
  return mask && !mask->empty() ? ": ZE_AFFINITY_MASK=" + *mask + " hides all devices that it does not name"
                                : std::string();
}

}  // namespace

std::string pci_text(const ze_pci_address_ext_t& address) {
  std::array<char, 48> text = {};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.%x", address.domain, address.bus, address.device,
                address.function);
  return text.data();
}

Devices::Devices(const Api& api, std::uint16_t module) : api_(api), module_(module) {
  const auto drivers = list_of<ze_driver_handle_t>(api, api.driver_get);
  const bool is_combined = spi::environment("ZE_FLAT_DEVICE_HIERARCHY") == "COMBINED";
  for (const ze_driver_handle_t driver : drivers) add_driver(driver, is_combined);
  if (entries_.empty()) {
    throw Error(ErrorCode::backend_unavailable, "the Level Zero drivers show no GPU" + mask_hint(), "level_zero");
  }
  // A card gets its number when the first of its tiles is seen; the tiles of several cards may be mixed.
  std::ranges::stable_sort(entries_, {}, [](const DeviceEntry& entry) { return entry.number.index(); });
}

void Devices::add_driver(ze_driver_handle_t driver, bool tiles_know_cards) {
  for (const ze_device_handle_t handle : list_of<ze_device_handle_t>(api_, api_.device_get, driver)) {
    const DeviceEntry entry = describe(driver, handle, {});
    if (entry.properties.type != ZE_DEVICE_TYPE_GPU) continue;
    ze_device_handle_t card = nullptr;
    if (!api_.try_call(api_.device_get_root, handle, &card)) card = nullptr;
    const bool is_tile = (entry.properties.flags & ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE) != 0;
    // Old loaders cannot be asked for the card, but the flag tells that the device is a tile of one.
    if (card != nullptr || (is_tile && tiles_know_cards))
      add_tile_of_card(driver, handle, card);
    else
      add_composite(driver, handle);
  }
}

void Devices::add_composite(ze_driver_handle_t driver, ze_device_handle_t card) {
  const auto index = static_cast<std::int16_t>(count());
  entries_.push_back(describe(driver, card, Device(module_, index)));
  std::int16_t part = 0;
  for (const ze_device_handle_t tile : list_of<ze_device_handle_t>(api_, api_.device_get_sub_devices, card)) {
    entries_.push_back(describe(driver, tile, Device(module_, index, part++)));
  }
}

void Devices::add_tile_of_card(ze_driver_handle_t driver, ze_device_handle_t tile, ze_device_handle_t card) {
  DeviceEntry entry = describe(driver, tile, {});
  const auto known = std::ranges::find_if(entries_, [&](const DeviceEntry& other) {
    if (other.number.sub_device() >= 0 || other.driver != driver) return false;
    return card != nullptr ? other.handle == card : other.handle == nullptr && other.address == entry.address;
  });
  auto index = static_cast<std::int16_t>(count());
  if (known != entries_.end()) {
    index = static_cast<std::int16_t>(known->number.index());
  } else {
    DeviceEntry whole = card != nullptr ? describe(driver, card, {}) : entry;
    whole.handle = card;
    whole.number = Device(module_, index);
    entries_.push_back(whole);
  }
  entry.number = Device(module_, index, static_cast<std::int16_t>(parts_of(index)));
  entries_.push_back(entry);
}

DeviceEntry Devices::describe(ze_driver_handle_t driver, ze_device_handle_t handle, Device number) const {
  DeviceEntry entry;
  entry.number = number;
  entry.driver = driver;
  entry.handle = handle;
  // In this version of the structure the timer's resolution is cycles per second.
  entry.properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2;
  api_.call(api_.device_get_properties, handle, &entry.properties);
  entry.address = address_of(api_, handle);
  return entry;
}

int Devices::parts_of(int index) const {
  return static_cast<int>(std::ranges::count_if(entries_, [&](const DeviceEntry& entry) {
    return entry.number.index() == index && entry.number.sub_device() >= 0;
  }));
}

int Devices::count() const {
  return static_cast<int>(
      std::ranges::count_if(entries_, [](const DeviceEntry& entry) { return entry.number.sub_device() < 0; }));
}

DeviceInfo Devices::info_of(const DeviceEntry& entry) const {
  DeviceInfo row;
  row.device = entry.number;
  row.name = entry.properties.name;
  row.vendor = entry.properties.vendorId == 0x8086 ? "Intel" : "";
  ze_driver_properties_t driver = {};
  driver.stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES;
  api_.call(api_.driver_get_properties, entry.driver, &driver);
  ze_api_version_t version = {};
  api_.call(api_.driver_get_api_version, entry.driver, &version);
  row.driver = "Level Zero " + std::to_string(ZE_MAJOR_VERSION(version)) + "." +
               std::to_string(ZE_MINOR_VERSION(version)) + ", driver " + std::to_string(driver.driverVersion);
  row.address = entry.address;
  if (entry.handle != nullptr) std::ranges::copy(entry.properties.uuid.id, row.uuid.begin());
  row.numa_node = numa_node_of(entry.address);
  row.is_gpu = true;
  row.is_fake = row.name.find("fake") != std::string::npos;
  row.sub_devices = entry.number.sub_device() < 0 ? parts_of(entry.number.index()) : 0;
  if (entry.handle == nullptr) return row;  // info() adds up its tiles
  const ze_device_properties_t& properties = entry.properties;
  row.compute_units = properties.numSlices * properties.numSubslicesPerSlice * properties.numEUsPerSubslice;
  std::uint32_t modules = 0;
  api_.call(api_.device_get_memory_properties, entry.handle, &modules, nullptr);
  std::vector<ze_device_memory_properties_t> memory(modules);
  for (auto& module : memory) module.stype = ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES;
  if (modules > 0) api_.call(api_.device_get_memory_properties, entry.handle, &modules, memory.data());
  for (const auto& module : memory) row.memory_bytes += module.totalSize;
  row.free_bytes = free_memory(api_, entry, row.sub_devices > 0);
  return row;
}

std::vector<DeviceInfo> Devices::info() const {
  std::vector<DeviceInfo> rows;
  std::size_t card = 0;
  for (const DeviceEntry& entry : entries_) {
    rows.push_back(info_of(entry));
    if (entry.number.sub_device() < 0) card = rows.size() - 1;
    if (entry.number.sub_device() < 0 || get(rows[card].device).handle != nullptr) continue;
    rows[card].compute_units += rows.back().compute_units;
    rows[card].memory_bytes += rows.back().memory_bytes;
    rows[card].free_bytes += rows.back().free_bytes;
  }
  return rows;
}

std::vector<DeviceLink> Devices::links() const {
  std::vector<Endpoint> ends;
  for (const DeviceEntry& entry : entries_) {
    Endpoint end{entry, {}};
    const bool is_card = entry.number.sub_device() < 0 && parts_of(entry.number.index()) > 0;
    for (const DeviceEntry& other : entries_) {
      const bool is_its_tile =
          is_card && other.number.sub_device() >= 0 && other.number.index() == entry.number.index();
      if (is_its_tile || (!is_card && &other == &entry)) end.vertices.push_back(other.handle);
    }
    ends.push_back(std::move(end));
  }
  std::vector<DeviceLink> found;
  for (const Endpoint& from : ends) {
    for (const Endpoint& to : ends) {
      // Links join cards or tiles, but not a card and a tile: a card is its tiles.
      const bool is_alike = (from.entry.number.sub_device() < 0) == (to.entry.number.sub_device() < 0);
      if (&from == &to || !is_alike) continue;
      if (auto link = find_link(api_, from, to)) found.push_back(std::move(*link));
    }
  }
  return found;
}

const DeviceEntry& Devices::get(Device device) const {
  const auto entry = std::ranges::find(entries_, device, &DeviceEntry::number);
  if (entry != entries_.end()) return *entry;
  if (device.module() == module_ && device.sub_device() >= 0 && device.index() < count()) {
    throw Error(ErrorCode::config, "there is no device '" + device.name() + "': " +
                                       Device(module_, static_cast<std::int16_t>(device.index())).name() + " has " +
                                       std::to_string(parts_of(device.index())) + " sub-devices" + mask_hint());
  }
  throw Error(ErrorCode::config, "there is no device '" + device.name() + "': the Level Zero drivers show " +
                                     std::to_string(count()) + " devices" + mask_hint());
}

const DeviceEntry& Devices::find(ze_device_handle_t handle) const {
  const auto entry = std::ranges::find(entries_, handle, &DeviceEntry::handle);
  if (handle != nullptr && entry != entries_.end()) return *entry;
  throw Error(ErrorCode::invalid_argument, "the Level Zero drivers show no device with this handle", "level_zero");
}

}  // namespace tutti::level_zero_device
