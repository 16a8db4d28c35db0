// Functions that the loader looks up in a driver to fill its tables. For a member that is null, the loader returns
// ZE_RESULT_ERROR_UNSUPPORTED_FEATURE.
#include <level_zero/ze_ddi.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_ddi.h>

#include "driver.hpp"

namespace {

using namespace fake_level_zero;

ze_result_t init(ze_init_flags_t) { return ZE_RESULT_SUCCESS; }

int the_driver;  // its address is the handle

ze_result_t driver_get(std::uint32_t* count, ze_driver_handle_t* handles) {
  if (handles != nullptr && *count > 0) *handles = reinterpret_cast<ze_driver_handle_t>(&the_driver);
  *count = 1;
  return ZE_RESULT_SUCCESS;
}

ze_result_t driver_get_api_version(ze_driver_handle_t, ze_api_version_t* version) {
  *version = ZE_API_VERSION_1_4;
  return ZE_RESULT_SUCCESS;
}

ze_result_t driver_get_properties(ze_driver_handle_t, ze_driver_properties_t* properties) {
  properties->driverVersion = 0x01030000;
  return ZE_RESULT_SUCCESS;
}

ze_result_t driver_get_ipc_properties(ze_driver_handle_t, ze_driver_ipc_properties_t* properties) {
  properties->flags = ZE_IPC_PROPERTY_FLAG_MEMORY;
  return ZE_RESULT_SUCCESS;
}

ze_result_t driver_get_extensions(ze_driver_handle_t, std::uint32_t* count, ze_driver_extension_properties_t*) {
  *count = 0;
  return ZE_RESULT_SUCCESS;
}

}  // namespace

#define FAKE_TABLE(name, table) \
  extern "C" __attribute__((visibility("default"))) ze_result_t name(ze_api_version_t, table* functions)
#define FAKE_EMPTY_TABLE(name, table) \
  FAKE_TABLE(name, table) {           \
    *functions = {};                  \
    return ZE_RESULT_SUCCESS;         \
  }

FAKE_TABLE(zeGetGlobalProcAddrTable, ze_global_dditable_t) {
  *functions = {.pfnInit = init};
  return ZE_RESULT_SUCCESS;
}

FAKE_TABLE(zeGetDriverProcAddrTable, ze_driver_dditable_t) {
  *functions = {};
  functions->pfnGet = driver_get;
  functions->pfnGetApiVersion = driver_get_api_version;
  functions->pfnGetProperties = driver_get_properties;
  functions->pfnGetIpcProperties = driver_get_ipc_properties;
  functions->pfnGetExtensionProperties = driver_get_extensions;
  return ZE_RESULT_SUCCESS;
}

FAKE_TABLE(zeGetDeviceProcAddrTable, ze_device_dditable_t) {
  *functions = {};
  functions->pfnGet = device_get;
  functions->pfnGetSubDevices = device_get_sub_devices;
  functions->pfnGetProperties = device_get_properties;
  functions->pfnGetMemoryProperties = device_get_memory_properties;
  functions->pfnGetCommandQueueGroupProperties = device_get_queue_groups;
  functions->pfnGetGlobalTimestamps = device_get_timestamps;
  functions->pfnPciGetPropertiesExt = device_get_pci;
  functions->pfnCanAccessPeer = device_can_access_peer;
  return ZE_RESULT_SUCCESS;
}

FAKE_TABLE(zeGetDeviceExpProcAddrTable, ze_device_exp_dditable_t) {
  *functions = {.pfnGetFabricVertexExp = device_get_fabric_vertex};
  return ZE_RESULT_SUCCESS;
}

FAKE_TABLE(zeGetFabricVertexExpProcAddrTable, ze_fabric_vertex_exp_dditable_t) {
  *functions = {};
  functions->pfnGetExp = fabric_vertex_get;
  functions->pfnGetDeviceExp = fabric_vertex_get_device;
  return ZE_RESULT_SUCCESS;
}

FAKE_TABLE(zeGetFabricEdgeExpProcAddrTable, ze_fabric_edge_exp_dditable_t) {
  *functions = {};
  functions->pfnGetExp = fabric_edge_get;
  functions->pfnGetPropertiesExp = fabric_edge_get_properties;
  return ZE_RESULT_SUCCESS;
}

FAKE_TABLE(zeGetContextProcAddrTable, ze_context_dditable_t) {
  *functions = {};
  functions->pfnCreate = context_create;
  functions->pfnDestroy = context_destroy;
  functions->pfnMakeMemoryResident = context_check_memory;
  functions->pfnEvictMemory = context_check_memory;
  return ZE_RESULT_SUCCESS;
}

FAKE_TABLE(zeGetMemProcAddrTable, ze_mem_dditable_t) {
  *functions = {};
  functions->pfnAllocDevice = memory_allocate_device;
  functions->pfnAllocHost = memory_allocate_host;
  functions->pfnAllocShared = memory_allocate_shared;
  functions->pfnFree = memory_free;
  functions->pfnGetAllocProperties = memory_get_properties;
  functions->pfnGetAddressRange = memory_get_range;
  functions->pfnGetIpcHandle = memory_get_ipc_handle;
  functions->pfnOpenIpcHandle = memory_open_ipc_handle;
  functions->pfnCloseIpcHandle = memory_close_ipc_handle;
  return ZE_RESULT_SUCCESS;
}

FAKE_TABLE(zeGetEventPoolProcAddrTable, ze_event_pool_dditable_t) {
  *functions = {};
  functions->pfnCreate = pool_create;
  functions->pfnDestroy = pool_destroy;
  return ZE_RESULT_SUCCESS;
}

FAKE_TABLE(zeGetEventProcAddrTable, ze_event_dditable_t) {
  *functions = {.pfnCreate = event_create,
                .pfnDestroy = event_destroy,
                .pfnHostSignal = event_signal,
                .pfnHostSynchronize = event_synchronize,
                .pfnQueryStatus = event_query,
                .pfnHostReset = event_reset,
                .pfnQueryKernelTimestamp = event_get_times};
  return ZE_RESULT_SUCCESS;
}

FAKE_TABLE(zeGetCommandListProcAddrTable, ze_command_list_dditable_t) {
  *functions = {};
  functions->pfnCreate = list_create;
  functions->pfnCreateImmediate = list_create_immediate;
  functions->pfnClose = list_close;
  functions->pfnReset = list_reset;
  functions->pfnDestroy = list_destroy;
  functions->pfnAppendBarrier = list_append_barrier;
  functions->pfnAppendMemoryCopy = list_append_copy;
  functions->pfnAppendMemoryFill = list_append_fill;
  functions->pfnAppendLaunchKernel = list_append_kernel;
  functions->pfnAppendSignalEvent = list_append_signal;
  functions->pfnAppendWaitOnEvents = list_append_wait;
  return ZE_RESULT_SUCCESS;
}

FAKE_TABLE(zeGetCommandQueueProcAddrTable, ze_command_queue_dditable_t) {
  *functions = {};
  functions->pfnCreate = queue_create;
  functions->pfnDestroy = queue_destroy;
  functions->pfnExecuteCommandLists = queue_execute;
  functions->pfnSynchronize = queue_synchronize;
  return ZE_RESULT_SUCCESS;
}

FAKE_TABLE(zeGetModuleProcAddrTable, ze_module_dditable_t) {
  *functions = {};
  functions->pfnCreate = module_create;
  functions->pfnDestroy = module_destroy;
  return ZE_RESULT_SUCCESS;
}

FAKE_TABLE(zeGetKernelProcAddrTable, ze_kernel_dditable_t) {
  *functions = {};
  functions->pfnCreate = kernel_create;
  functions->pfnDestroy = kernel_destroy;
  functions->pfnSetGroupSize = kernel_set_group_size;
  return ZE_RESULT_SUCCESS;
}

FAKE_TABLE(zesGetDeviceProcAddrTable, zes_device_dditable_t) {
  *functions = {};
  functions->pfnEnumMemoryModules = sysman_enumerate_memory;
  return ZE_RESULT_SUCCESS;
}

FAKE_TABLE(zesGetMemoryProcAddrTable, zes_memory_dditable_t) {
  *functions = {};
  functions->pfnGetProperties = sysman_memory_properties;
  functions->pfnGetState = sysman_memory_state;
  return ZE_RESULT_SUCCESS;
}

// The loader accepts the driver only if the other tables exist, too.
FAKE_EMPTY_TABLE(zeGetFenceProcAddrTable, ze_fence_dditable_t)
FAKE_EMPTY_TABLE(zeGetImageProcAddrTable, ze_image_dditable_t)
FAKE_EMPTY_TABLE(zeGetModuleBuildLogProcAddrTable, ze_module_build_log_dditable_t)
FAKE_EMPTY_TABLE(zeGetPhysicalMemProcAddrTable, ze_physical_mem_dditable_t)
FAKE_EMPTY_TABLE(zeGetSamplerProcAddrTable, ze_sampler_dditable_t)
FAKE_EMPTY_TABLE(zeGetVirtualMemProcAddrTable, ze_virtual_mem_dditable_t)

FAKE_EMPTY_TABLE(zetGetDeviceProcAddrTable, zet_device_dditable_t)
FAKE_EMPTY_TABLE(zetGetContextProcAddrTable, zet_context_dditable_t)
FAKE_EMPTY_TABLE(zetGetCommandListProcAddrTable, zet_command_list_dditable_t)
FAKE_EMPTY_TABLE(zetGetModuleProcAddrTable, zet_module_dditable_t)
FAKE_EMPTY_TABLE(zetGetKernelProcAddrTable, zet_kernel_dditable_t)
FAKE_EMPTY_TABLE(zetGetMetricGroupProcAddrTable, zet_metric_group_dditable_t)
FAKE_EMPTY_TABLE(zetGetMetricProcAddrTable, zet_metric_dditable_t)
FAKE_EMPTY_TABLE(zetGetMetricStreamerProcAddrTable, zet_metric_streamer_dditable_t)
FAKE_EMPTY_TABLE(zetGetMetricQueryPoolProcAddrTable, zet_metric_query_pool_dditable_t)
FAKE_EMPTY_TABLE(zetGetMetricQueryProcAddrTable, zet_metric_query_dditable_t)
FAKE_EMPTY_TABLE(zetGetTracerExpProcAddrTable, zet_tracer_exp_dditable_t)
FAKE_EMPTY_TABLE(zetGetDebugProcAddrTable, zet_debug_dditable_t)

FAKE_EMPTY_TABLE(zesGetDriverProcAddrTable, zes_driver_dditable_t)
FAKE_EMPTY_TABLE(zesGetSchedulerProcAddrTable, zes_scheduler_dditable_t)
FAKE_EMPTY_TABLE(zesGetPerformanceFactorProcAddrTable, zes_performance_factor_dditable_t)
FAKE_EMPTY_TABLE(zesGetPowerProcAddrTable, zes_power_dditable_t)
FAKE_EMPTY_TABLE(zesGetFrequencyProcAddrTable, zes_frequency_dditable_t)
FAKE_EMPTY_TABLE(zesGetEngineProcAddrTable, zes_engine_dditable_t)
FAKE_EMPTY_TABLE(zesGetStandbyProcAddrTable, zes_standby_dditable_t)
FAKE_EMPTY_TABLE(zesGetFirmwareProcAddrTable, zes_firmware_dditable_t)
FAKE_EMPTY_TABLE(zesGetFabricPortProcAddrTable, zes_fabric_port_dditable_t)
FAKE_EMPTY_TABLE(zesGetTemperatureProcAddrTable, zes_temperature_dditable_t)
FAKE_EMPTY_TABLE(zesGetPsuProcAddrTable, zes_psu_dditable_t)
FAKE_EMPTY_TABLE(zesGetFanProcAddrTable, zes_fan_dditable_t)
FAKE_EMPTY_TABLE(zesGetLedProcAddrTable, zes_led_dditable_t)
FAKE_EMPTY_TABLE(zesGetRasProcAddrTable, zes_ras_dditable_t)
FAKE_EMPTY_TABLE(zesGetDiagnosticsProcAddrTable, zes_diagnostics_dditable_t)
