#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <sycl/sycl.hpp>
#include <vector>

#include "tutti/info/device_info.hpp"

namespace tutti::sycl_device {

/// The devices that tutti uses, by number. Only devices with unified shared memory (USM) count; a GPU that two backends
/// of the runtime offer counts once.
class Devices {
 public:
  /// Enumerates the devices. A CPU is partitioned into `cpu_parts` equal sub-devices where it has enough cores, a GPU
  /// into its tiles.
  Devices(std::uint16_t module, std::uint64_t cpu_parts);

  [[nodiscard]] bool empty() const noexcept { return roots_.empty(); }
  /// Devices that were left out, with the reasons.
  [[nodiscard]] const std::string& left_out() const noexcept { return left_out_; }
  [[nodiscard]] std::vector<DeviceInfo> info();
  /// Throws Error{config} if there is no such device. The reference stays valid.
  [[nodiscard]] const ::sycl::device& get(Device device);
  /// The number of a device; a sub-device that the application partitioned itself gets a new number. Throws
  /// Error{invalid_argument} for a device that tutti does not use.
  [[nodiscard]] Device number_of(const ::sycl::device& device);

 private:
  struct Root {
    ::sycl::device device;
    std::deque<::sycl::device> parts;
  };
  [[nodiscard]] Device make(std::size_t index, std::ptrdiff_t part = -1) const noexcept;

  std::uint16_t module_;
  std::string left_out_;
  std::mutex mutex_;
  std::deque<Root> roots_;  // references to elements stay valid when parts are added
};

}  // namespace tutti::sycl_device
