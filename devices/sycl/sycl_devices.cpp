#include "sycl_devices.hpp"

#include <algorithm>

#include "sycl_call.hpp"

namespace tutti::sycl_device {

namespace {

namespace info = ::sycl::info;
using ::sycl::aspect;

std::vector<::sycl::device> parts_of(const ::sycl::device& device, std::uint64_t cpu_parts) {
  using Property = info::partition_property;
  const auto supported = device.get_info<info::device::partition_properties>();
  const auto has = [&](Property property) { return std::ranges::find(supported, property) != supported.end(); };
  try {
    if (device.is_gpu() && has(Property::partition_by_affinity_domain)) {
      return device.create_sub_devices<Property::partition_by_affinity_domain>(
          info::partition_affinity_domain::next_partitionable);
    }
    const std::uint64_t units = device.get_info<info::device::max_compute_units>();
    if (device.is_cpu() && has(Property::partition_equally) && cpu_parts > 1 && units >= cpu_parts) {
      auto parts = device.create_sub_devices<Property::partition_equally>(units / cpu_parts);
      if (parts.size() > cpu_parts) parts.resize(cpu_parts);
      return parts;
    }
  } catch (const ::sycl::exception&) {
    // The device claims to be partitionable and is not, e.g. when the process is pinned to one core: use it as a whole.
  }
  return {};
}

DeviceInfo describe(const ::sycl::device& device, Device number) {
  namespace intel = ::sycl::ext::intel::info::device;
  DeviceInfo row;
  row.device = number;
  row.name = device.get_info<info::device::name>();
  row.vendor = device.get_info<info::device::vendor>();
  row.driver =
      device.get_platform().get_info<info::platform::name>() + " " + device.get_info<info::device::driver_version>();
  row.memory_bytes = device.get_info<info::device::global_mem_size>();
  row.compute_units = device.get_info<info::device::max_compute_units>();
  row.is_gpu = device.is_gpu();
  if (device.has(aspect::ext_intel_pci_address)) row.address = device.get_info<intel::pci_address>();
  if (device.is_gpu() && device.has(aspect::ext_intel_device_info_uuid)) row.uuid = device.get_info<intel::uuid>();
  if (device.has(aspect::ext_intel_free_memory)) row.free_bytes = device.get_info<intel::free_memory>();
  return row;
}

}  // namespace

Devices::Devices(std::uint16_t module, std::uint64_t cpu_parts) : module_(module) {
  std::vector<::sycl::device> found;
  for (const ::sycl::platform& platform : ::sycl::platform::get_platforms()) {
    for (const ::sycl::device& device : platform.get_devices()) found.push_back(device);
  }
  const bool has_direct_gpu = std::ranges::any_of(found, [](const ::sycl::device& device) {
    return device.is_gpu() && device.get_backend() != ::sycl::backend::opencl;
  });
  const auto reason_against = [&](const ::sycl::device& device) -> std::string {
    if (!device.has(aspect::usm_device_allocations)) return "has no USM";
    if (device.is_gpu() && has_direct_gpu && device.get_backend() == ::sycl::backend::opencl) {
      return "is used through another backend of the SYCL runtime";
    }
    return {};
  };
  // GPUs first, so that sycl:0 is a GPU where there is one.
  std::ranges::stable_sort(found, {}, [](const ::sycl::device& device) { return device.is_gpu() ? 0 : 1; });
  for (const ::sycl::device& device : found) {
    if (const std::string reason = reason_against(device); !reason.empty()) {
      left_out_ += (left_out_.empty() ? "" : "; ") + device.get_info<info::device::name>() + " " + reason;
      continue;
    }
    const auto parts = parts_of(device, cpu_parts);
    roots_.push_back({device, {parts.begin(), parts.end()}});
  }
}

Device Devices::make(std::size_t index, std::ptrdiff_t part) const noexcept {
  return {module_, static_cast<std::int16_t>(index), static_cast<std::int16_t>(part)};
}

std::vector<DeviceInfo> Devices::info() {
  const std::scoped_lock lock(mutex_);
  std::vector<DeviceInfo> rows;
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    rows.push_back(describe(roots_[i].device, make(i)));
    rows.back().sub_devices = static_cast<int>(roots_[i].parts.size());
    for (std::size_t part = 0; part < roots_[i].parts.size(); ++part) {
      rows.push_back(describe(roots_[i].parts[part], make(i, static_cast<std::ptrdiff_t>(part))));
    }
  }
  return rows;
}

const ::sycl::device& Devices::get(Device device) {
  const std::scoped_lock lock(mutex_);
  const auto index = static_cast<std::size_t>(device.index());
  if (device.module() == module_ && index < roots_.size()) {
    Root& root = roots_[index];
    if (device.sub_device() < 0) return root.device;
    if (static_cast<std::size_t>(device.sub_device()) < root.parts.size()) {
      return root.parts[static_cast<std::size_t>(device.sub_device())];
    }
    throw Error(ErrorCode::config, "there is no device '" + device.name() + "': " + make(index).name() + " has " +
                                       std::to_string(root.parts.size()) + " sub-devices");
  }
  throw Error(ErrorCode::config, "there is no device '" + device.name() + "': the SYCL runtime shows " +
                                     std::to_string(roots_.size()) + " usable devices");
}

Device Devices::number_of(const ::sycl::device& device) {
  const std::scoped_lock lock(mutex_);
  ::sycl::device top = device;
  while (top.get_info<info::device::partition_type_property>() != info::partition_property::no_partition) {
    top = top.get_info<info::device::parent_device>();
  }
  for (std::size_t i = 0; i < roots_.size(); ++i) {
    Root& root = roots_[i];
    if (root.device != top) continue;
    if (device == top) return make(i);
    auto part = std::ranges::find(root.parts, device);
    if (part == root.parts.end()) part = root.parts.insert(part, device);
    return make(i, part - root.parts.begin());
  }
  throw Error(ErrorCode::invalid_argument, "tutti cannot use the queue's device, " +
                                               device.get_info<info::device::name>() +
                                               (left_out_.empty() ? "" : " (" + left_out_ + ")"));
}

}  // namespace tutti::sycl_device
