#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tutti::tools {

/// Memory of a device that a process uses.
struct DeviceUsage {
  std::string device;  ///< PCI address, "0000:03:00.0"
  std::string driver;  ///< of the kernel: "xe"
  std::uint64_t bytes = 0;
};

/// By device, as the kernel's graphics drivers (xe, i915, amdgpu) count it: the resident memory on the devices of all
/// clients that the process has open, in /proc/PID/fdinfo. Nothing for a process of another user, and for drivers that
/// do not count. `proc`: in place of /proc.
[[nodiscard]] std::vector<DeviceUsage> device_usage_of(std::int64_t pid, const std::string& proc = "/proc");

/// "0000:03:00.0 1.5 GiB, 0000:04:00.0 2 GiB"; empty if there is none.
[[nodiscard]] std::string device_usage_text(const std::vector<DeviceUsage>& memory);

}  // namespace tutti::tools
