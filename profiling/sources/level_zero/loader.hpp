#pragma once

#include <level_zero/ze_api.h>
#include <level_zero/zes_api.h>

#include <cstdint>
#include <vector>

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
  decltype(&zeEventPoolCreate) event_pool_create = nullptr;
  decltype(&zeEventPoolDestroy) event_pool_destroy = nullptr;
  decltype(&zeEventCreate) event_create = nullptr;
  decltype(&zeEventDestroy) event_destroy = nullptr;
  decltype(&zeEventHostReset) event_host_reset = nullptr;
  decltype(&zeDevicePciGetPropertiesExt) device_get_pci = nullptr;
  /// System management. The first three are of newer loaders than the headers may be.
  ze_result_t (*sysman_init)(std::uint32_t) = nullptr;
  ze_result_t (*sysman_driver_get)(std::uint32_t*, zes_driver_handle_t*) = nullptr;
  ze_result_t (*sysman_device_get)(zes_driver_handle_t, std::uint32_t*, zes_device_handle_t*) = nullptr;
  decltype(&zesDevicePciGetProperties) sysman_get_pci = nullptr;
  decltype(&zesDeviceEnumMemoryModules) sysman_enumerate_memory = nullptr;
  decltype(&zesMemoryGetProperties) sysman_memory_properties = nullptr;
  decltype(&zesMemoryGetState) sysman_memory_state = nullptr;
  void* handle = nullptr;

  [[nodiscard]] bool makes_events() const noexcept {
    return event_pool_create != nullptr && event_pool_destroy != nullptr && event_create != nullptr &&
           event_destroy != nullptr && event_host_reset != nullptr;
  }
  [[nodiscard]] bool tells_memory() const noexcept {
    return sysman_enumerate_memory != nullptr && sysman_memory_properties != nullptr && sysman_memory_state != nullptr;
  }
  /// The functions without which the source does not work.
  [[nodiscard]] bool is_complete() const noexcept {
    return driver_get != nullptr && device_get != nullptr && device_get_sub_devices != nullptr &&
           device_get_properties != nullptr && device_get_global_timestamps != nullptr &&
           event_query_kernel_timestamp != nullptr;
  }
  /// An exported function of the loader by its name, or null.
  [[nodiscard]] void* find(const char* name) const noexcept;
};

/// All handles that a function of the kind "number, then handles" returns; none if it fails.
template <typename Handle, typename Get>
[[nodiscard]] std::vector<Handle> list_handles(const Get& get) {
  std::uint32_t count = 0;
  if (get(&count, static_cast<Handle*>(nullptr)) != ZE_RESULT_SUCCESS) return {};
  std::vector<Handle> handles(count);
  if (count == 0 || get(&count, handles.data()) != ZE_RESULT_SUCCESS) return {};
  return handles;
}

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
