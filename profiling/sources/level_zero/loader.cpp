#include "loader.hpp"

#include <dlfcn.h>

namespace tutti::profiling::ze {

void* Loader::find(const char* name) const noexcept {
  void* found = handle == nullptr ? nullptr : dlsym(handle, name);
  if (found == nullptr) (void)dlerror();
  return found;
}

Loader open_loader(const void* code) noexcept {
  Loader loader;
  Dl_info where{};
  if (dladdr(code, &where) == 0) return loader;
  loader.handle = dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  const auto find = [&]<typename Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(loader.find(name));
  };
  find(loader.driver_get, "zeDriverGet");
  find(loader.device_get, "zeDeviceGet");
  find(loader.device_get_sub_devices, "zeDeviceGetSubDevices");
  find(loader.device_get_properties, "zeDeviceGetProperties");
  find(loader.device_get_global_timestamps, "zeDeviceGetGlobalTimestamps");
  find(loader.event_query_kernel_timestamp, "zeEventQueryKernelTimestamp");
  find(loader.event_pool_create, "zeEventPoolCreate");
  find(loader.event_pool_destroy, "zeEventPoolDestroy");
  find(loader.event_create, "zeEventCreate");
  find(loader.event_destroy, "zeEventDestroy");
  find(loader.event_host_reset, "zeEventHostReset");
  find(loader.device_get_pci, "zeDevicePciGetPropertiesExt");
  find(loader.sysman_init, "zesInit");
  find(loader.sysman_driver_get, "zesDriverGet");
  find(loader.sysman_device_get, "zesDeviceGet");
  find(loader.sysman_get_pci, "zesDevicePciGetProperties");
  find(loader.sysman_enumerate_memory, "zesDeviceEnumMemoryModules");
  find(loader.sysman_memory_properties, "zesMemoryGetProperties");
  find(loader.sysman_memory_state, "zesMemoryGetState");
  return loader;
}

}  // namespace tutti::profiling::ze
