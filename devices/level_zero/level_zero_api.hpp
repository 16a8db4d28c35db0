#pragma once

#include <level_zero/loader/ze_loader.h>
#include <level_zero/ze_api.h>
#include <level_zero/zes_api.h>

#include <functional>
#include <string>
#include <string_view>

#include "tutti/spi/instrument.hpp"

/// Every call into Level Zero goes through this table. It is filled at run time, so no loader is linked, and every call
/// is reported to the observer.
namespace tutti::level_zero_device {

/// The result of a call, as the specification spells it: "ZE_RESULT_ERROR_DEVICE_LOST (0x70000001)".
[[nodiscard]] std::string result_text(ze_result_t result);

/// Throws Error{backend_failure}, or Error{system} where memory has run out, naming the function.
[[noreturn]] void fail(std::string_view function, ze_result_t result);

/// Address of a symbol of the loader, or null.
using SymbolLookup = std::function<void*(const char*)>;

struct Api {
  /// Looks up all functions. Throws Error{backend_unavailable} naming the first required one that is missing.
  explicit Api(const SymbolLookup& lookup);

  /// Calls a function of the table; throws like fail() when it does not succeed.
  template <typename Function, typename... Arguments>
  void call(const Function& function, Arguments... arguments) const {
    if (const ze_result_t result = function(arguments...); result != ZE_RESULT_SUCCESS) fail(function.name(), result);
  }
  /// Calls a function that the loader may lack; whether it is there and succeeds.
  template <typename Function, typename... Arguments>
  [[nodiscard]] bool try_call(const Function& function, Arguments... arguments) const {
    return function && function(arguments...) == ZE_RESULT_SUCCESS;
  }

  /// "1.8.12", or "" where the loader does not say.
  [[nodiscard]] std::string loader_version() const;

  spi::VendorFunction<decltype(&zeInit)> init;
  spi::VendorFunction<decltype(&zeDriverGet)> driver_get;
  spi::VendorFunction<decltype(&zeDriverGetApiVersion)> driver_get_api_version;
  spi::VendorFunction<decltype(&zeDriverGetProperties)> driver_get_properties;
  spi::VendorFunction<decltype(&zeDeviceGet)> device_get;
  spi::VendorFunction<decltype(&zeDeviceGetSubDevices)> device_get_sub_devices;
  spi::VendorFunction<decltype(&zeDeviceGetProperties)> device_get_properties;
  spi::VendorFunction<decltype(&zeDeviceGetMemoryProperties)> device_get_memory_properties;
  spi::VendorFunction<decltype(&zeDeviceGetCommandQueueGroupProperties)> device_get_queue_groups;
  spi::VendorFunction<decltype(&zeDeviceCanAccessPeer)> device_can_access_peer;
  spi::VendorFunction<decltype(&zeDeviceGetGlobalTimestamps)> device_get_timestamps;
  spi::VendorFunction<decltype(&zeContextCreate)> context_create;
  spi::VendorFunction<decltype(&zeContextDestroy)> context_destroy;
  spi::VendorFunction<decltype(&zeMemAllocDevice)> mem_alloc_device;
  spi::VendorFunction<decltype(&zeMemAllocHost)> mem_alloc_host;
  spi::VendorFunction<decltype(&zeMemAllocShared)> mem_alloc_shared;
  spi::VendorFunction<decltype(&zeMemFree)> mem_free;
  spi::VendorFunction<decltype(&zeMemGetAllocProperties)> mem_get_alloc_properties;
  spi::VendorFunction<decltype(&zeMemGetAddressRange)> mem_get_address_range;
  spi::VendorFunction<decltype(&zeMemGetIpcHandle)> mem_get_ipc_handle;
  spi::VendorFunction<decltype(&zeMemOpenIpcHandle)> mem_open_ipc_handle;
  spi::VendorFunction<decltype(&zeMemCloseIpcHandle)> mem_close_ipc_handle;
  spi::VendorFunction<decltype(&zeEventPoolCreate)> event_pool_create;
  spi::VendorFunction<decltype(&zeEventPoolDestroy)> event_pool_destroy;
  spi::VendorFunction<decltype(&zeEventCreate)> event_create;
  spi::VendorFunction<decltype(&zeEventDestroy)> event_destroy;
  spi::VendorFunction<decltype(&zeEventHostSignal)> event_host_signal;
  spi::VendorFunction<decltype(&zeEventHostSynchronize)> event_host_synchronize;
  spi::VendorFunction<decltype(&zeEventQueryStatus)> event_query_status;
  spi::VendorFunction<decltype(&zeEventHostReset)> event_host_reset;
  spi::VendorFunction<decltype(&zeEventQueryKernelTimestamp)> event_query_timestamp;
  spi::VendorFunction<decltype(&zeCommandListCreateImmediate)> list_create_immediate;
  spi::VendorFunction<decltype(&zeCommandListDestroy)> list_destroy;
  spi::VendorFunction<decltype(&zeCommandListAppendBarrier)> list_append_barrier;
  spi::VendorFunction<decltype(&zeCommandListAppendMemoryCopy)> list_append_copy;
  spi::VendorFunction<decltype(&zeCommandListAppendMemoryFill)> list_append_fill;

  /// Functions that loaders may lack. Types that the oldest supported headers lack are spelled out.
  spi::VendorFunction<decltype(&zelLoaderGetVersions)> loader_get_versions;
  spi::VendorFunction<decltype(&zeDevicePciGetPropertiesExt)> device_get_pci;
  spi::VendorFunction<ze_result_t (*)(ze_device_handle_t, ze_device_handle_t*)> device_get_root;
  spi::VendorFunction<decltype(&zeDeviceGetFabricVertexExp)> device_get_fabric_vertex;
  spi::VendorFunction<decltype(&zeFabricEdgeGetExp)> fabric_edge_get;
  spi::VendorFunction<decltype(&zeFabricEdgeGetPropertiesExp)> fabric_edge_get_properties;
  spi::VendorFunction<ze_result_t (*)(std::uint32_t)> sysman_init;
  spi::VendorFunction<ze_result_t (*)(std::uint32_t*, zes_driver_handle_t*)> sysman_driver_get;
  spi::VendorFunction<ze_result_t (*)(zes_driver_handle_t, std::uint32_t*, zes_device_handle_t*)> sysman_device_get;
  spi::VendorFunction<decltype(&zesDevicePciGetProperties)> sysman_get_pci;
  spi::VendorFunction<decltype(&zesDeviceEnumMemoryModules)> sysman_enum_memory;
  spi::VendorFunction<decltype(&zesMemoryGetProperties)> sysman_memory_properties;
  spi::VendorFunction<decltype(&zesMemoryGetState)> sysman_memory_state;
};

/// Opens and starts the loader: the file `setting` names, or the one the system finds. Never closes it. Throws
/// Error{backend_unavailable} with the reason, in one sentence, when there is no loader, it is too old, or it does not
/// start.
[[nodiscard]] Api open_loader(const std::string& setting);

}  // namespace tutti::level_zero_device
