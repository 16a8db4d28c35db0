#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tutti/config.hpp"
#include "tutti/device.hpp"
#include "tutti/export.hpp"

namespace tutti {

/// A device or sub-device as reported by its module. Unknown values are empty, zero or -1.
struct DeviceInfo {
  Device device;
  std::string name;     ///< given by the driver
  std::string vendor;   ///< manufacturer
  std::string driver;   ///< driver and its version
  std::string address;  ///< PCI address: "0000:3a:00.0"
  /// Equal in all processes, even if a device mask hides some devices from a process.
  std::array<std::uint8_t, 16> uuid = {};
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint32_t compute_units = 0;
  int numa_node = -1;
  int sub_devices = 0;  ///< number of sub-devices
  bool is_gpu = false;
  bool is_fake = false;  ///< a stand-in of the tests, not hardware
};

/// Direct connection between two devices, or two sub-devices of one device, without the host. Pairs that no module
/// reports are connected over the PCI bus, whose distances the host knows.
struct DeviceLink {
  enum class Kind : std::uint8_t {
    same_card,  ///< sub-devices of one device
    fabric,     ///< vendor-specific links between devices, with or without switches
    peer,       ///< loads and stores over the PCI bus
  };
  Device from;
  Device to;
  Kind kind = Kind::peer;
  std::string name;       ///< the vendor's name of the link: "NV4", "XL2"; "" if it has none
  double gb_per_s = 0.0;  ///< in one direction; 0: unknown
};

/// A device module as `tutti info` shows it.
struct DeviceModuleInfo {
  std::string name;
  std::string description;
  std::string location;  ///< "built in" or the module's file
  bool usable = false;
  std::string reason;  ///< why it is not usable, or what was found
  std::string version;
  std::vector<DeviceInfo> devices;  ///< each followed by its sub-devices
  std::vector<DeviceLink> links;    ///< both directions
};

/// The host and all device modules; unusable modules have the reason. Starts the runtimes of the usable modules.
[[nodiscard]] TUTTI_API std::vector<DeviceModuleInfo> device_modules(const Config& config = {});

}  // namespace tutti
