#pragma once

#include <level_zero/ze_api.h>

namespace tutti::profiling::ze {

/// Functions of the loader that the program uses, for the source's own calls, which it does not record. Null where the
/// loader has none.
struct Loader {
  decltype(&zeDriverGet) driver_get = nullptr;
  decltype(&zeDeviceGet) device_get = nullptr;
  decltype(&zeDeviceGetSubDevices) device_get_sub_devices = nullptr;
  decltype(&zeDeviceGetProperties) device_get_properties = nullptr;
  decltype(&zeDeviceGetGlobalTimestamps) device_get_global_timestamps = nullptr;
  decltype(&zeEventQueryKernelTimestamp) event_query_kernel_timestamp = nullptr;
  void* handle = nullptr;

  [[nodiscard]] bool is_complete() const noexcept {
    return driver_get != nullptr && device_get != nullptr && device_get_sub_devices != nullptr &&
           device_get_properties != nullptr && device_get_global_timestamps != nullptr &&
           event_query_kernel_timestamp != nullptr;
  }
  /// An exported function of the loader by its name, or null.
  [[nodiscard]] void* find(const char* name) const noexcept;
};

/// The loader that contains `code`, the program's zeInit. It stays open.
[[nodiscard]] Loader open_loader(const void* code) noexcept;

/// Exists while this thread is in a call of the source's own.
class OwnCall {
 public:
  OwnCall() noexcept { ++depth; }
  ~OwnCall() { --depth; }
  OwnCall(const OwnCall&) = delete;
  OwnCall& operator=(const OwnCall&) = delete;
  [[nodiscard]] static bool is_active() noexcept { return depth > 0; }

 private:
  static inline constinit thread_local int depth = 0;
};

}  // namespace tutti::profiling::ze
