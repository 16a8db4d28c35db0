#pragma once

#include <string>
#include <vector>

#include "cuda_api.hpp"
#include "nvml_api.hpp"
#include "tutti/info/device_info.hpp"

namespace tutti::cuda_device {

/// The devices that CUDA_VISIBLE_DEVICES selects, numbered in its order. Queries start no device.
class Devices {
 public:
  Devices(const Api& api, std::uint16_t module, int count);

  [[nodiscard]] Device at(int index) const noexcept { return {module_, static_cast<std::int16_t>(index)}; }
  /// Throws Error{config} if there is no such device.
  void check(Device device) const;
  /// CUDA's number of a device. The reference stays valid.
  [[nodiscard]] const int& ordinal(Device device) const;
  /// Whether the host may access managed memory while the device is busy.
  [[nodiscard]] bool shares_while_busy(int index) const { return rows_[static_cast<std::size_t>(index)].shares; }

  [[nodiscard]] std::vector<DeviceInfo> info() const;
  [[nodiscard]] std::vector<DeviceLink> links() const;

 private:
  struct Row {
    int ordinal = 0;
    std::string address;
    bool shares = false;
  };
  [[nodiscard]] int attribute(cudaDeviceAttr attribute, int index) const;

  const Api& api_;
  Nvml nvml_;
  std::uint16_t module_;
  std::vector<Row> rows_;
};

}  // namespace tutti::cuda_device
