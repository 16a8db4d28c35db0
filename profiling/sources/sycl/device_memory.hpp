#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "runtime_devices.hpp"
#include "session/recorder.hpp"
#include "sources/common/used_memory.hpp"
#include "unified_runtime_api.hpp"

namespace tutti::profiling {

/// Memory in use on the devices as the Unified Runtime tells it: by allocations of the program and by everything else,
/// modules, other libraries and other processes. Nothing is recorded for a device that does not tell. Thread-safe.
class DeviceMemory {
 public:
  DeviceMemory(RuntimeDevices& devices, SourceId source) noexcept : devices_(devices), source_(source) {}

  /// Takes a device in; its changes count from the first time on.
  void add(ur::Device device) noexcept;
  /// Records the changes since the last time.
  void sample() noexcept;
  /// The same if the last sample is half a second old. `now_ns`: a time that the caller has anyway.
  void sample_sometimes(std::uint64_t now_ns) noexcept {
    // Relaxed: a device that has just come can wait for the next sample.
    if (has_places_.load(std::memory_order_relaxed) && times_.is_due(now_ns)) [[unlikely]]
      sample();
  }

 private:
  struct Place {
    ur::Device device;
    std::uint64_t total;
    UsedMemory memory;
  };

  RuntimeDevices& devices_;
  const SourceId source_;
  std::mutex mutex_;
  std::vector<ur::Device> known_;  ///< also those that do not tell
  std::vector<Place> places_;
  std::atomic<bool> has_places_ = false;
  SampleTimes times_;
};

}  // namespace tutti::profiling
