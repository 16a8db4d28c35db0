#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tutti/spi/instrument.hpp"

namespace tutti::cuda_device {

/// Facts about GPUs from NVIDIA's management library that CUDA does not give, or not without starting the GPUs. The
/// library comes with the driver; where it is missing or fails, nothing is known. Devices are named by PCI address.
class Nvml {
 public:
  Nvml();

  /// "580.82.07"; empty when not known.
  [[nodiscard]] std::string driver_version() const;
  /// 0 when not known.
  [[nodiscard]] std::uint64_t free_bytes(const std::string& address) const;

  /// A link of a device to another device or to a switch.
  struct Link {
    bool is_to_switch = false;
    std::string address;  ///< of the device at the other end; "" for a switch
    double gb_per_s = 0;  ///< in one direction; 0: not known
  };
  /// The active links of a device.
  [[nodiscard]] std::vector<Link> links(const std::string& address) const;

 private:
  using Handle = struct OpaqueDevice*;
  struct Memory;
  struct PciInfo;
  template <typename... Parameters>
  using Vendor = spi::VendorFunction<int (*)(Parameters...)>;

  [[nodiscard]] Handle find(const std::string& address) const;

  bool is_there_ = false;
  Vendor<> init_{"nvml", "nvmlInit_v2"};
  Vendor<char*, unsigned> driver_version_{"nvml", "nvmlSystemGetDriverVersion"};
  Vendor<const char*, Handle*> get_handle_{"nvml", "nvmlDeviceGetHandleByPciBusId_v2"};
  Vendor<Handle, Memory*> get_memory_{"nvml", "nvmlDeviceGetMemoryInfo"};
  Vendor<Handle, unsigned, int*> link_state_{"nvml", "nvmlDeviceGetNvLinkState"};
  Vendor<Handle, unsigned, unsigned*> link_version_{"nvml", "nvmlDeviceGetNvLinkVersion"};
  Vendor<Handle, unsigned, unsigned*> link_remote_type_{"nvml", "nvmlDeviceGetNvLinkRemoteDeviceType"};
  Vendor<Handle, unsigned, PciInfo*> link_remote_pci_{"nvml", "nvmlDeviceGetNvLinkRemotePciInfo_v2"};
};

/// Converts "0000:3A:00.0" or "00000000:3a:00.0" to the form of the kernel, "0000:3a:00.0".
[[nodiscard]] std::string canonical_address(std::string address);

}  // namespace tutti::cuda_device
