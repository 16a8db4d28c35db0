#pragma once

#include <level_zero/ze_api.h>

#include <span>
#include <vector>

#include "loader.hpp"
#include "session/recorder.hpp"

namespace tutti::profiling::ze {

/// The devices and sub-devices of all drivers: their numbers in the session, and their clocks. Unchanged once made.
class Devices {
 public:
  explicit Devices(const Loader& loader) noexcept;

  /// 0 for no device, and for one that no driver has listed.
  [[nodiscard]] DeviceId id_of(ze_device_handle_t device) const noexcept;

  /// Times of a command in the clock of records. False if the device does not tell.
  [[nodiscard]] bool host_times(ze_device_handle_t device, const ze_kernel_timestamp_data_t& times,
                                std::uint64_t& begin_ns, std::uint64_t& end_ns) const noexcept;

  struct Entry {
    ze_device_handle_t handle;
    ze_device_handle_t root;   ///< the same for devices that are no sub-devices
    std::uint32_t sub_number;  ///< among the sub-devices of the card, as the driver counts
    DeviceId id;
    double nanoseconds_per_tick;
    std::uint64_t mask;  ///< of the valid bits of its timestamps
  };
  /// Devices, each before its sub-devices.
  [[nodiscard]] std::span<const Entry> all() const noexcept { return entries_; }

 private:
  void add(ze_device_handle_t device, ze_device_handle_t root, std::uint64_t number);
  [[nodiscard]] const Entry* find(ze_device_handle_t device) const noexcept;

  const Loader& loader_;
  std::vector<Entry> entries_;
};

}  // namespace tutti::profiling::ze
