#pragma once

#include <cstdint>

#include "session/recorder.hpp"
#include "sources/common/handle_table.hpp"
#include "unified_runtime_api.hpp"

namespace tutti::profiling {

/// Devices of the Unified Runtime: their numbers in the session, and their clocks. Thread-safe.
class RuntimeDevices {
 public:
  /// Remembers the order of sub-devices, which may share their parent's UUID.
  void add_sub_devices(ur::Device parent, const ur::Device* devices, std::uint32_t count) noexcept;

  /// 0 for no device.
  [[nodiscard]] DeviceId id_of(ur::Device device) noexcept;

  /// Nanoseconds to add to a time of the device's clock for the clock of records; 0 if the device does not tell.
  [[nodiscard]] std::int64_t clock_offset(ur::Device device) noexcept;

 private:
  struct SubDevice {
    ur::Device parent;
    std::uint32_t number;  ///< from 1
  };
  struct Offset {
    std::int64_t nanoseconds;
    std::uint64_t measured_at;
  };
  [[nodiscard]] DeviceId describe(ur::Device device) noexcept;

  HandleTable<SubDevice> sub_devices_;
  HandleTable<DeviceId> ids_;
  HandleTable<Offset> offsets_;
};

}  // namespace tutti::profiling
