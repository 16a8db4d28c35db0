#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "session/recorder.hpp"
#include "sources/common/used_memory.hpp"

namespace tutti::profiling::cuda {

/// Memory in use on the devices, as NVIDIA's management library tells it: by allocations of the program and by
/// everything else, contexts, modules, libraries and other processes. Its changes are recorded as memory of an owner of
/// its own. Without the library, which comes with the driver, nothing is recorded.
class DeviceMemory {
 public:
  explicit DeviceMemory(SourceId source) noexcept;

  /// Takes a device in; changes count from now on.
  void add(DeviceId id, const unsigned char (&uuid)[16]) noexcept;
  /// Records the changes since the last time.
  void sample() noexcept;

 private:
  using Handle = struct OpaqueDevice*;
  struct Memory {
    unsigned long long total, free, used;
  };
  struct Device {
    Handle handle = nullptr;
    UsedMemory memory;
  };
  static constexpr std::size_t kMostDevices = 64;

  int (*get_handle_)(const char*, Handle*) = nullptr;
  int (*get_memory_)(Handle, Memory*) = nullptr;  ///< null: nothing is known
  const SourceId source_;
  std::mutex mutex_;
  std::array<Device, kMostDevices> devices_{};
  std::size_t count_ = 0;
};

}  // namespace tutti::profiling::cuda
