#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tutti/config.hpp"
#include "tutti/device.hpp"
#include "tutti/export.hpp"

namespace tutti {

/// A device or sub-device as its module found it. What is not known is empty, zero or -1.
struct DeviceInfo {
  Device device;
  std::string name;     ///< as its driver calls it
  std::string vendor;   ///< who made it
  std::string driver;   ///< what drives it, with its version
  std::string address;  ///< on the PCI bus: "0000:3a:00.0"
  /// The same in every process, whatever that hides from itself.
  std::array<std::uint8_t, 16> uuid = {};
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint32_t compute_units = 0;
  int numa_node = -1;
  int sub_devices = 0;  ///< how many it has
  bool is_gpu = false;
  bool is_fake = false;  ///< a stand-in of the tests, not hardware
};

/// How two devices, or two sub-devices of one, reach each other without the host. What no module reports goes over the
/// PCI bus, of which the host knows the distances.
struct DeviceLink {
  enum class Kind : std::uint8_t {
    same_card,  ///< sub-devices of one device
    fabric,     ///< links of the maker's own between devices, with or without switches
    peer,       ///< loads and stores over the PCI bus
  };
  Device from;
  Device to;
  Kind kind = Kind::peer;
  std::string name;       ///< as users of this maker's devices know it: "NV4", "XL2"; "" where there is no such name
  double gb_per_s = 0.0;  ///< in one direction; 0: not known
};

/// A device module as `tutti info` shows it.
struct DeviceModuleInfo {
  std::string name;
  std::string description;
  std::string location;  ///< "built in" or the module's file
  bool usable = false;
  std::string reason;  ///< why not, or what was found
  std::string version;
  std::vector<DeviceInfo> devices;  ///< each followed by its sub-devices
  std::vector<DeviceLink> links;    ///< both directions
};

/// The host and all device modules, those that cannot be used here with the reason. Starts the runtimes that are there.
[[nodiscard]] TUTTI_API std::vector<DeviceModuleInfo> device_modules(const Config& config = {});

}  // namespace tutti
