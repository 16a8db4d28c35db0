#pragma once

#include <level_zero/zes_api.h>

#include <mutex>
#include <vector>

#include "devices.hpp"
#include "loader.hpp"
#include "session/recorder.hpp"
#include "sources/common/used_memory.hpp"

namespace tutti::profiling::ze {

/// Memory in use on the devices as Level Zero's system management tells it: by allocations of the program and by
/// everything else, modules, other libraries and other processes. Nothing is recorded where it does not tell.
/// Thread-safe.
class DeviceMemory {
 public:
  /// Changes count from now on.
  DeviceMemory(const Loader& loader, const Devices& devices, SourceId source) noexcept;

  /// Records the changes since the last time.
  void sample() noexcept;
  /// The same if the last sample is half a second old. `now_ns`: a time that the caller has anyway.
  void sample_sometimes(std::uint64_t now_ns) noexcept {
    if (!places_.empty() && times_.is_due(now_ns)) [[unlikely]]
      sample();
  }

 private:
  /// A device or sub-device with memory of its own.
  struct Place {
    DeviceId device;
    std::vector<zes_mem_handle_t> modules;
    UsedMemory memory;
  };
  void add_modules(const Devices::Entry& root, zes_device_handle_t managed, const Devices& devices);
  [[nodiscard]] zes_device_handle_t managed_device(ze_device_handle_t device) const;
  /// False if the driver does not tell.
  [[nodiscard]] bool used_of(const Place& place, std::uint64_t& bytes) const noexcept;

  const Loader& loader_;
  const SourceId source_;
  std::vector<Place> places_;  ///< unchanged once made, but for `memory`
  SampleTimes times_;
  std::mutex mutex_;
};

}  // namespace tutti::profiling::ze
