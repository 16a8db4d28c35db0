#include "cuda_devices.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <map>

#include "tutti/error.hpp"

namespace tutti::cuda_device {

namespace {

int numa_node_of(const std::string& address) {
  std::ifstream file("/sys/bus/pci/devices/" + address + "/numa_node");
  int node = -1;
  return file >> node ? node : -1;
}

}  // namespace

Devices::Devices(const Api& api, std::uint16_t module, int count) : api_(api), module_(module) {
  for (int i = 0; i < count; ++i) {
    std::array<char, 64> address = {};
    api_.call(&Api::device_get_pci_bus_id, address.data(), static_cast<int>(address.size()), i);
    rows_.push_back({i, canonical_address(address.data()), attribute(cudaDevAttrConcurrentManagedAccess, i) != 0});
  }
}

int Devices::attribute(cudaDeviceAttr attribute, int index) const {
  int value = 0;
  api_.call(&Api::device_get_attribute, &value, attribute, index);
  return value;
}

void Devices::check(Device device) const {
  const bool is_there =
      device.module() == module_ && device.index() >= 0 && static_cast<std::size_t>(device.index()) < rows_.size();
  if (is_there && device.sub_device() < 0) return;
  const std::string what_there_is = is_there ? at(device.index()).name() + " has no sub-devices"
                                             : "this process sees " + std::to_string(rows_.size()) + " CUDA devices";
  throw Error(ErrorCode::config, "there is no device '" + device.name() + "': " + what_there_is);
}

const int& Devices::ordinal(Device device) const {
  check(device);
  return rows_[static_cast<std::size_t>(device.index())].ordinal;
}

std::vector<DeviceInfo> Devices::info() const {
  std::vector<DeviceInfo> result;
  const std::string driver = nvml_.driver_version();
  int driver_cuda = 0;
  api_.call(&Api::driver_get_version, &driver_cuda);
  for (const Row& row : rows_) {
    DeviceInfo info;
    info.device = at(row.ordinal);
    // The structure differs between versions; the members read here are at its beginning in all of them, and no version
    // is as large as `space`.
    union {
      cudaDeviceProp properties;
      std::array<std::byte, 8192> space;
    } all = {};
    api_.call(&Api::get_device_properties, &all.properties, row.ordinal);
    info.name = all.properties.name;
    info.memory_bytes = all.properties.totalGlobalMem;
    info.vendor = "NVIDIA";
    info.driver = (driver.empty() ? "" : driver + ", ") + "CUDA " + std::to_string(driver_cuda / 1000) + "." +
                  std::to_string(driver_cuda % 1000 / 10);
    info.address = row.address;
    std::memcpy(info.uuid.data(), all.properties.uuid.bytes, info.uuid.size());
    info.free_bytes = nvml_.free_bytes(row.address);
    info.compute_units = static_cast<std::uint32_t>(attribute(cudaDevAttrMultiProcessorCount, row.ordinal));
    info.numa_node = numa_node_of(row.address);
    info.is_gpu = true;
    info.is_fake = info.name.starts_with("fake ");
    result.push_back(std::move(info));
  }
  return result;
}

std::vector<DeviceLink> Devices::links() const {
  // Links from each device by the address of the other end; those to switches are under "".
  struct Bundle {
    int links = 0;
    double gb_per_s = 0;
  };
  std::vector<std::map<std::string, Bundle>> bundles;
  for (const Row& row : rows_) {
    auto& all = bundles.emplace_back();
    for (const Nvml::Link& link : nvml_.links(row.address)) {
      Bundle& bundle = all[link.address];
      ++bundle.links;
      bundle.gb_per_s += link.gb_per_s;
    }
  }
  std::vector<DeviceLink> result;
  for (const Row& from : rows_) {
    for (const Row& to : rows_) {
      if (from.ordinal == to.ordinal) continue;
      auto& mine = bundles[static_cast<std::size_t>(from.ordinal)];
      const Bundle switched = bundles[static_cast<std::size_t>(to.ordinal)][""].links == 0 ? Bundle{} : mine[""];
      const Bundle direct = mine[to.address];
      const Bundle& best = direct.links != 0 ? direct : switched;
      int can_access = 0;
      api_.call(&Api::device_can_access_peer, &can_access, from.ordinal, to.ordinal);
      if (best.links != 0) {
        result.push_back({at(from.ordinal), at(to.ordinal), DeviceLink::Kind::fabric, "NV" + std::to_string(best.links),
                          best.gb_per_s});
      } else if (can_access != 0) {
        result.push_back({at(from.ordinal), at(to.ordinal), DeviceLink::Kind::peer, {}, 0});
      }
    }
  }
  return result;
}

}  // namespace tutti::cuda_device
