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

/// Result of probing a device module on this machine. A probe prints nothing and never crashes; if it throws, the
/// message becomes the reason.
struct DeviceProbe {
  bool usable = false;
  std::string reason;   ///< one sentence: why it is not usable, or what was found
  std::string version;  ///< of the runtime underneath
};

struct DeviceContext {
  const Config& config;
  std::uint16_t module = 0;  ///< Device::module() of this module's devices
};

/// Entry of a device module in the registry. One per shared object `libtutti_device_<name>.so`.
struct DeviceModule {
  std::uint32_t abi = kModuleAbi;
  std::string_view name;
  std::string_view variant;
  std::string_view description;
  std::span<const Setting> settings = {};

  DeviceProbe (*probe)(const Config&) = nullptr;
  /// Starts the runtime; called once per process. Throws Error{backend_unavailable} with the probe's reason.
  std::unique_ptr<DeviceRuntime> (*open)(const DeviceContext&) = nullptr;
};

/// Symbol that a module exports: `extern "C" const DeviceModule* tutti_device_module()`.
using DeviceModuleEntry = const DeviceModule* (*)();
inline constexpr const char* kDeviceModuleSymbol = "tutti_device_module";

}  // namespace tutti::spi
