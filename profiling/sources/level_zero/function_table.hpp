#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// All functions of Level Zero that a loader may trace. Their callbacks all get the addresses of the arguments, one
/// after the other, so that one row describes a function.
namespace tutti::profiling::ze {

/// The part that a function has in the session, beside its own time.
enum class Role : std::uint8_t {
  plain,
  query,  ///< only asks for something, at a high rate
  init,
  context_end,  ///< the last look at the memory in use, before the program gives everything up
  allocation,
  release,
  copy,
  fill,
  region,  ///< a copy of a region
  touch,   ///< moves memory without another place: residency, prefetch
  kernel,  ///< a launch
  work,    ///< other work of a device that may signal an event
  list_create,
  list_create_immediate,
  list_reset,
  list_destroy,
  execute,
  pool_create,
  event_create,
  event_query,  ///< asks whether an event is complete, at a high rate
  event_wait,
  event_end,   ///< before which the last look at an event must be
  wait,        ///< after which events are complete
  queue_wait,  ///< after which all commands of a queue have ended
  kernel_create,
};

/// A function and the numbers of its arguments; -1: it has none of the kind.
struct Function {
  std::string_view name;
  Role role = Role::plain;
  std::int8_t object = 0;  ///< the list, event, pool or queue that it is about, or the place for its handle
  std::int8_t bytes = -1;
  std::int8_t to = -1;  ///< address that is written; of allocations: the place for the address
  std::int8_t from = -1;
  std::int8_t device = -1;
  std::int8_t event = -1;   ///< the event that is signalled
  std::int8_t detail = -1;  ///< a kernel, description or number, by role
  char place = 'M';         ///< of allocations: letter of the kind of memory
};

inline constexpr std::array kFunctions = {
    Function{"zeInit", Role::init},
    Function{"zeInitDrivers", Role::init},
    Function{"zeDriverGet"},
    Function{"zeDriverGetApiVersion"},
    Function{"zeDriverGetProperties", Role::query},
    Function{"zeDriverGetIpcProperties", Role::query},
    Function{"zeDriverGetExtensionProperties", Role::query},
    Function{"zeDriverGetExtensionFunctionAddress"},
    Function{"zeDriverGetLastErrorDescription"},
    Function{"zeDeviceGet"},
    Function{"zeDeviceGetRootDevice"},
    Function{"zeDeviceGetSubDevices"},
    Function{"zeDeviceGetProperties", Role::query},
    Function{"zeDeviceGetComputeProperties", Role::query},
    Function{"zeDeviceGetModuleProperties", Role::query},
    Function{"zeDeviceGetCommandQueueGroupProperties", Role::query},
    Function{"zeDeviceGetMemoryProperties", Role::query},
    Function{"zeDeviceGetMemoryAccessProperties", Role::query},
    Function{"zeDeviceGetCacheProperties", Role::query},
    Function{"zeDeviceGetImageProperties", Role::query},
    Function{"zeDeviceGetExternalMemoryProperties", Role::query},
    Function{"zeDeviceGetP2PProperties", Role::query},
    Function{"zeDeviceCanAccessPeer"},
    Function{"zeDeviceGetStatus"},
    Function{"zeDeviceGetGlobalTimestamps"},
    Function{"zeContextCreate"},
    Function{"zeContextCreateEx"},
    Function{"zeContextDestroy", Role::context_end},
    Function{"zeContextGetStatus"},
    Function{"zeContextSystemBarrier"},
    Function{.name = "zeContextMakeMemoryResident", .role = Role::touch, .bytes = 3, .device = 1},
    Function{.name = "zeContextEvictMemory", .role = Role::touch, .bytes = 3, .device = 1},
    Function{"zeContextMakeImageResident"},
    Function{"zeContextEvictImage"},
    Function{"zeCommandQueueCreate"},
    Function{"zeCommandQueueDestroy"},
    Function{.name = "zeCommandQueueExecuteCommandLists", .role = Role::execute, .detail = 1},
    Function{"zeCommandQueueSynchronize", Role::queue_wait},
    Function{"zeCommandQueueGetIndex"},
    Function{"zeCommandQueueGetOrdinal"},
    Function{.name = "zeCommandListCreate", .role = Role::list_create, .object = 3, .device = 1},
    Function{.name = "zeCommandListCreateImmediate", .role = Role::list_create_immediate, .object = 3, .device = 1},
    Function{"zeCommandListDestroy", Role::list_destroy},
    Function{"zeCommandListClose"},
    Function{"zeCommandListReset", Role::list_reset},
    Function{"zeCommandListHostSynchronize", Role::wait},
    Function{"zeCommandListGetDeviceHandle", Role::query},
    Function{"zeCommandListGetContextHandle", Role::query},
    Function{"zeCommandListIsImmediate", Role::query},
    Function{"zeCommandListImmediateAppendCommandListsExp"},
    Function{.name = "zeCommandListAppendWriteGlobalTimestamp", .role = Role::work, .event = 2},
    Function{.name = "zeCommandListAppendBarrier", .role = Role::work, .event = 1},
    Function{.name = "zeCommandListAppendMemoryRangesBarrier", .role = Role::work, .event = 4},
    Function{.name = "zeCommandListAppendMemoryCopy", .role = Role::copy, .bytes = 3, .to = 1, .from = 2, .event = 4},
    Function{.name = "zeCommandListAppendMemoryFill", .role = Role::fill, .bytes = 4, .to = 1, .from = 2, .event = 5},
    Function{.name = "zeCommandListAppendMemoryCopyRegion",
             .role = Role::region,
             .to = 1,
             .from = 5,
             .event = 9,
             .detail = 2},
    Function{.name = "zeCommandListAppendMemoryCopyFromContext",
             .role = Role::copy,
             .bytes = 4,
             .to = 1,
             .from = 3,
             .event = 5},
    Function{.name = "zeCommandListAppendImageCopy", .role = Role::work, .event = 3},
    Function{.name = "zeCommandListAppendImageCopyRegion", .role = Role::work, .event = 5},
    Function{.name = "zeCommandListAppendImageCopyToMemory", .role = Role::work, .event = 4},
    Function{.name = "zeCommandListAppendImageCopyFromMemory", .role = Role::work, .event = 4},
    Function{.name = "zeCommandListAppendImageCopyToMemoryExt", .role = Role::work, .event = 6},
    Function{.name = "zeCommandListAppendImageCopyFromMemoryExt", .role = Role::work, .event = 6},
    Function{.name = "zeCommandListAppendMemoryPrefetch", .role = Role::touch, .bytes = 2},
    Function{"zeCommandListAppendMemAdvise"},
    Function{"zeCommandListAppendSignalEvent"},
    Function{"zeCommandListAppendWaitOnEvents"},
    Function{.name = "zeCommandListAppendEventReset", .role = Role::event_end, .object = 1},
    Function{.name = "zeCommandListAppendQueryKernelTimestamps", .role = Role::work, .event = 5},
    Function{.name = "zeCommandListAppendLaunchKernel", .role = Role::kernel, .event = 3, .detail = 1},
    Function{.name = "zeCommandListAppendLaunchCooperativeKernel", .role = Role::kernel, .event = 3, .detail = 1},
    Function{.name = "zeCommandListAppendLaunchKernelIndirect", .role = Role::kernel, .event = 3, .detail = 1},
    Function{.name = "zeCommandListAppendLaunchMultipleKernelsIndirect", .role = Role::work, .event = 5},
    Function{.name = "zeEventPoolCreate", .role = Role::pool_create, .object = 4, .detail = 1},
    Function{"zeEventPoolDestroy"},
    Function{"zeEventPoolGetIpcHandle"},
    Function{"zeEventPoolPutIpcHandle"},
    Function{"zeEventPoolOpenIpcHandle"},
    Function{"zeEventPoolCloseIpcHandle"},
    Function{.name = "zeEventCreate", .role = Role::event_create, .object = 2, .detail = 0},
    Function{"zeEventDestroy", Role::event_end},
    Function{"zeEventHostSignal"},
    Function{"zeEventHostSynchronize", Role::event_wait},
    Function{"zeEventQueryStatus", Role::event_query},
    Function{"zeEventHostReset", Role::event_end},
    Function{"zeEventQueryKernelTimestamp"},
    Function{"zeEventQueryTimestampsExp"},
    Function{"zeEventQueryKernelTimestampsExt"},
    Function{"zeFenceCreate"},
    Function{"zeFenceDestroy"},
    Function{"zeFenceHostSynchronize", Role::wait},
    Function{"zeFenceQueryStatus", Role::query},
    Function{"zeFenceReset"},
    Function{"zeImageGetProperties", Role::query},
    Function{"zeImageCreate"},
    Function{"zeImageDestroy"},
    Function{"zeImageGetMemoryPropertiesExp", Role::query},
    Function{"zeImageViewCreateExp"},
    Function{"zeImageViewCreateExt"},
    Function{"zeImageGetAllocPropertiesExt", Role::query},
    Function{.name = "zeMemAllocShared", .role = Role::allocation, .bytes = 3, .to = 6, .device = 5, .place = 'S'},
    Function{.name = "zeMemAllocDevice", .role = Role::allocation, .bytes = 2, .to = 5, .device = 4, .place = 'D'},
    Function{.name = "zeMemAllocHost", .role = Role::allocation, .bytes = 2, .to = 4, .place = 'H'},
    Function{.name = "zeMemFree", .role = Role::release, .from = 1},
    Function{.name = "zeMemFreeExt", .role = Role::release, .from = 2},
    Function{"zeMemGetAllocProperties", Role::query},
    Function{"zeMemGetAddressRange"},
    Function{"zeMemGetIpcHandle"},
    Function{"zeMemPutIpcHandle"},
    Function{"zeMemOpenIpcHandle"},
    Function{"zeMemCloseIpcHandle"},
    Function{"zeModuleCreate"},
    Function{"zeModuleDestroy"},
    Function{"zeModuleDynamicLink"},
    Function{"zeModuleBuildLogDestroy"},
    Function{"zeModuleBuildLogGetString"},
    Function{"zeModuleGetNativeBinary"},
    Function{"zeModuleGetGlobalPointer"},
    Function{"zeModuleGetKernelNames"},
    Function{"zeModuleGetProperties", Role::query},
    Function{"zeModuleGetFunctionPointer"},
    Function{"zeModuleInspectLinkageExt"},
    Function{.name = "zeKernelCreate", .role = Role::kernel_create, .object = 2, .detail = 1},
    Function{"zeKernelDestroy"},
    Function{"zeKernelSetGroupSize"},
    Function{"zeKernelSuggestGroupSize", Role::query},
    Function{"zeKernelSuggestMaxCooperativeGroupCount", Role::query},
    Function{"zeKernelSetArgumentValue", Role::query},
    Function{"zeKernelSetIndirectAccess"},
    Function{"zeKernelGetIndirectAccess"},
    Function{"zeKernelGetSourceAttributes"},
    Function{"zeKernelSetCacheConfig"},
    Function{"zeKernelGetProperties", Role::query},
    Function{"zeKernelGetName", Role::query},
    Function{"zeKernelSetGlobalOffsetExp", Role::query},
    Function{"zeKernelSchedulingHintExp"},
    Function{"zeSamplerCreate"},
    Function{"zeSamplerDestroy"},
    Function{"zeVirtualMemReserve"},
    Function{"zeVirtualMemFree"},
    Function{"zeVirtualMemQueryPageSize"},
    Function{"zeVirtualMemMap"},
    Function{"zeVirtualMemUnmap"},
    Function{"zeVirtualMemSetAccessAttribute"},
    Function{"zeVirtualMemGetAccessAttribute"},
    Function{"zePhysicalMemCreate"},
    Function{"zePhysicalMemDestroy"},
    Function{"zeDeviceReserveCacheExt"},
    Function{"zeDeviceSetCacheAdviceExt"},
    Function{"zeDevicePciGetPropertiesExt", Role::query},
    Function{"zeDeviceGetFabricVertexExp"},
    Function{"zeFabricVertexGetExp"},
    Function{"zeFabricVertexGetSubVerticesExp"},
    Function{"zeFabricVertexGetPropertiesExp", Role::query},
    Function{"zeFabricVertexGetDeviceExp"},
    Function{"zeFabricEdgeGetExp"},
    Function{"zeFabricEdgeGetVerticesExp"},
    Function{"zeFabricEdgeGetPropertiesExp", Role::query},
};

/// Whether the function is left out of sessions of the mode `standard`.
[[nodiscard]] constexpr bool is_query(const Function& function) noexcept {
  return function.role == Role::query || function.role == Role::event_query;
}

}  // namespace tutti::profiling::ze
