#include "device/device_table.hpp"

#include "host_runtime.hpp"
#include "tutti/error.hpp"
#include "tutti/info.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti {

namespace {

/// The host, which is a device without a module.
DeviceModuleInfo host_info() {
  return {.name = "host",
          .description = "host memory with vectorised kernels",
          .location = "built in",
          .usable = true,
          .reason = "kernels for " + std::string(spi::kernel_target()),
          .version = std::string(version()),
          .devices = host::host_runtime().devices(),
          .links = {}};
}

}  // namespace

DeviceTable& DeviceTable::instance() {
  static auto* table = new DeviceTable;
  return *table;
}

DeviceTable::DeviceTable() { open_[0].store(&host::host_runtime(), std::memory_order_release); }

std::uint16_t DeviceTable::number_of(std::string_view name, const Config& config) {
  std::uint16_t number = 0;
  for (const auto* entry : modules(config)) {
    ++number;
    if (entry->name == name && number < open_.size()) return number;
  }
  return 0;
}

std::string DeviceTable::name_of(std::uint16_t number) {
  if (const spi::DeviceRuntime* known = opened(number)) return std::string(known->name());
  const Modules all = modules({});
  return number == 0 || number > all.size() ? std::string() : all[number - 1u]->name;
}

std::string DeviceTable::names(const Config& config) {
  std::string text = "host";
  for (const auto* entry : modules(config)) text += ", " + entry->name;
  return text;
}

spi::DeviceRuntime& DeviceTable::open(std::uint16_t number, const Config& config) {
  const Modules all = modules(config);
  if (number == 0 || number > all.size() || number >= open_.size()) {
    throw Error(ErrorCode::backend_unavailable,
                "there is no device module number " + std::to_string(number) + "; there are: " + names(config));
  }
  const auto* entry = all[number - 1u];
  if (entry->module == nullptr) {
    throw Error(ErrorCode::backend_unavailable,
                "device module " + entry->name + " is not usable: " + entry->location + " " + entry->rejected);
  }
  const std::scoped_lock lock(mutex_);
  if (opened(number) == nullptr) {
    open_[number].store(entry->module->open({config, number}).release(), std::memory_order_release);
  }
  return *opened(number);
}

std::vector<DeviceModuleInfo> device_modules(const Config& config) {
  std::vector<DeviceModuleInfo> result = {host_info()};
  std::uint16_t number = 0;
  for (const auto* entry : DeviceRegistry::instance().modules(config)) {
    ++number;
    DeviceModuleInfo info;
    info.name = entry->name;
    info.location = entry->location;
    info.reason = entry->rejected;
    if (entry->module != nullptr) {
      const spi::DeviceProbe probe = probe_module(*entry->module, config);
      info.description = entry->module->description;
      info.usable = probe.usable;
      info.reason = probe.reason;
      info.version = probe.version;
      try {
        if (probe.usable) {
          spi::DeviceRuntime& runtime = DeviceTable::instance().open(number, config);
          info.devices = runtime.devices();
          info.links = runtime.links();
        }
      } catch (const Error& error) {
        info.usable = false;
        info.reason = error.what();
      }
    }
    result.push_back(std::move(info));
  }
  return result;
}

Stream adopt_stream(std::string_view module, void* native) {
  DeviceTable& table = DeviceTable::instance();
  const std::uint16_t number = table.number_of(module);
  if (number == 0) {
    throw Error(ErrorCode::backend_unavailable,
                "there is no device module '" + std::string(module) + "'; there are: " + table.names());
  }
  return {table.runtime(number).device_of(native), native};
}

namespace spi {

DeviceRuntime& device_runtime(Device device) { return DeviceTable::instance().runtime(device.module()); }

const void* native_device(Device device, std::string_view module) {
  if (DeviceTable::instance().name_of(device.module()) != module) {
    throw Error(ErrorCode::config, "device " + device.name() + " does not belong to module " + std::string(module));
  }
  return device_runtime(device).native_device(device);
}

}  // namespace spi

}  // namespace tutti
