#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tutti/config.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/spi/module.hpp"

namespace tutti::spi {

/// What a device module says about this machine. Probing prints nothing and never crashes; what it throws is the reason.
struct DeviceProbe {
  bool usable = false;
  std::string reason;   ///< why not, or what was found: one sentence
  std::string version;  ///< of the runtime underneath
};

struct DeviceContext {
  const Config& config;
  std::uint16_t module = 0;  ///< the number that Devices of this module carry
};

/// A kind of device as the registry knows it. One per shared object `libtutti_device_<name>.so`.
struct DeviceModule {
  std::uint32_t abi = kModuleAbi;
  std::string_view name;
  std::string_view variant;
  std::string_view description;
  std::span<const Setting> settings = {};

  DeviceProbe (*probe)(const Config&) = nullptr;
  /// Starts the runtime; called once per process. Throws Error{backend_unavailable} with the reason of the probe.
  std::unique_ptr<DeviceRuntime> (*open)(const DeviceContext&) = nullptr;
};

/// The symbol a module exports: `extern "C" const DeviceModule* tutti_device_module()`.
using DeviceModuleEntry = const DeviceModule* (*)();
inline constexpr const char* kDeviceModuleSymbol = "tutti_device_module";

}  // namespace tutti::spi
