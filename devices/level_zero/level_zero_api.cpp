#include "level_zero_api.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "tutti/error.hpp"
#include "tutti/spi/environment.hpp"

namespace tutti::level_zero_device {
namespace {

constexpr std::string_view kLibrary = "level_zero";
constexpr const char* kLoader = "libze_loader.so.1";

// member, name
#define TUTTI_LEVEL_ZERO_REQUIRED(X)                                 \
  X(init, zeInit)                                                    \
  X(driver_get, zeDriverGet)                                         \
  X(driver_get_api_version, zeDriverGetApiVersion)                   \
  X(driver_get_properties, zeDriverGetProperties)                    \
  X(device_get, zeDeviceGet)                                         \
  X(device_get_sub_devices, zeDeviceGetSubDevices)                   \
  X(device_get_properties, zeDeviceGetProperties)                    \
  X(device_get_memory_properties, zeDeviceGetMemoryProperties)       \
  X(device_get_queue_groups, zeDeviceGetCommandQueueGroupProperties) \
  X(device_can_access_peer, zeDeviceCanAccessPeer)                   \
  X(device_get_timestamps, zeDeviceGetGlobalTimestamps)              \
  X(context_create, zeContextCreate)                                 \
  X(context_destroy, zeContextDestroy)                               \
  X(mem_alloc_device, zeMemAllocDevice)                              \
  X(mem_alloc_host, zeMemAllocHost)                                  \
  X(mem_alloc_shared, zeMemAllocShared)                              \
  X(mem_free, zeMemFree)                                             \
  X(mem_get_alloc_properties, zeMemGetAllocProperties)               \
  X(mem_get_address_range, zeMemGetAddressRange)                     \
  X(mem_get_ipc_handle, zeMemGetIpcHandle)                           \
  X(mem_open_ipc_handle, zeMemOpenIpcHandle)                         \
  X(mem_close_ipc_handle, zeMemCloseIpcHandle)                       \
  X(event_pool_create, zeEventPoolCreate)                            \
  X(event_pool_destroy, zeEventPoolDestroy)                          \
  X(event_create, zeEventCreate)                                     \
  X(event_destroy, zeEventDestroy)                                   \
  X(event_host_signal, zeEventHostSignal)                            \
  X(event_host_synchronize, zeEventHostSynchronize)                  \
  X(event_query_status, zeEventQueryStatus)                          \
  X(event_host_reset, zeEventHostReset)                              \
  X(event_query_timestamp, zeEventQueryKernelTimestamp)              \
  X(list_create_immediate, zeCommandListCreateImmediate)             \
  X(list_destroy, zeCommandListDestroy)                              \
  X(list_append_barrier, zeCommandListAppendBarrier)                 \
  X(list_append_copy, zeCommandListAppendMemoryCopy)                 \
  X(list_append_fill, zeCommandListAppendMemoryFill)

#define TUTTI_LEVEL_ZERO_OPTIONAL(X)                          \
  X(loader_get_versions, zelLoaderGetVersions)                \
  X(device_get_pci, zeDevicePciGetPropertiesExt)              \
  X(device_get_root, zeDeviceGetRootDevice)                   \
  X(device_get_fabric_vertex, zeDeviceGetFabricVertexExp)     \
  X(fabric_edge_get, zeFabricEdgeGetExp)                      \
  X(fabric_edge_get_properties, zeFabricEdgeGetPropertiesExp) \
  X(sysman_init, zesInit)                                     \
  X(sysman_driver_get, zesDriverGet)                          \
  X(sysman_device_get, zesDeviceGet)                          \
  X(sysman_get_pci, zesDevicePciGetProperties)                \
  X(sysman_enum_memory, zesDeviceEnumMemoryModules)           \
  X(sysman_memory_properties, zesMemoryGetProperties)         \
  X(sysman_memory_state, zesMemoryGetState)

template <typename Function>
bool fill(spi::VendorFunction<Function>& function, const char* name, const SymbolLookup& lookup) {
  function = spi::VendorFunction<Function>(kLibrary, name);
  function.set(reinterpret_cast<Function>(lookup(name)));
  return static_cast<bool>(function);
}

struct ResultName {
  ze_result_t result;
  std::string_view name;
};
#define TUTTI_NAME(result) \
  ResultName { result, #result }
constexpr std::array kResultNames = {
    TUTTI_NAME(ZE_RESULT_NOT_READY),
    TUTTI_NAME(ZE_RESULT_ERROR_DEVICE_LOST),
    TUTTI_NAME(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY),
    TUTTI_NAME(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY),
    TUTTI_NAME(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS),
    TUTTI_NAME(ZE_RESULT_ERROR_NOT_AVAILABLE),
    TUTTI_NAME(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE),
    TUTTI_NAME(ZE_RESULT_ERROR_UNINITIALIZED),
    TUTTI_NAME(ZE_RESULT_ERROR_UNSUPPORTED_VERSION),
    TUTTI_NAME(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE),
    TUTTI_NAME(ZE_RESULT_ERROR_INVALID_ARGUMENT),
    TUTTI_NAME(ZE_RESULT_ERROR_INVALID_NULL_HANDLE),
    TUTTI_NAME(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE),
    TUTTI_NAME(ZE_RESULT_ERROR_INVALID_NULL_POINTER),
    TUTTI_NAME(ZE_RESULT_ERROR_INVALID_SIZE),
    TUTTI_NAME(ZE_RESULT_ERROR_UNSUPPORTED_SIZE),
    TUTTI_NAME(ZE_RESULT_ERROR_UNKNOWN),
};
#undef TUTTI_NAME

/// "1.8.0" of the file libze_loader.so.1.8.0: a loader that did not start does not report its version.
std::string version_of_file(void* library) {
  std::error_code error;
  Dl_info info = {};
  if (dladdr(dlsym(library, "zeInit"), &info) == 0) return {};
  const std::string name = std::filesystem::canonical(info.dli_fname, error).filename().string();
  const std::string_view kStem = "libze_loader.so.";
  return name.starts_with(kStem) ? name.substr(kStem.size()) : std::string();
}

Error unavailable(const std::string& reason, ze_result_t result = ZE_RESULT_SUCCESS) {
  return {ErrorCode::backend_unavailable, reason, "level_zero", static_cast<int>(result)};
}

}  // namespace

std::string result_text(ze_result_t result) {
  std::array<char, 16> number = {};
  std::snprintf(number.data(), number.size(), "0x%x", static_cast<unsigned>(result));
  for (const auto& [known, name] : kResultNames) {
    if (known == result) return std::string(name) + " (" + number.data() + ")";
  }
  return number.data();
}

void fail(std::string_view function, ze_result_t result) {
  const bool has_no_memory =
      result == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY || result == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  throw Error(has_no_memory ? ErrorCode::system : ErrorCode::backend_failure,
              std::string(function) + ": " + result_text(result), "level_zero", static_cast<int>(result));
}

Api::Api(const SymbolLookup& lookup) {
#define TUTTI_LOOK_UP(member, name)                                                     \
  if (!fill(member, #name, lookup)) {                                                   \
    throw unavailable("the file is no Level Zero loader, or too old: it lacks " #name); \
  }
  TUTTI_LEVEL_ZERO_REQUIRED(TUTTI_LOOK_UP)
#undef TUTTI_LOOK_UP
#define TUTTI_LOOK_UP(member, name) (void)fill(member, #name, lookup);
  TUTTI_LEVEL_ZERO_OPTIONAL(TUTTI_LOOK_UP)
#undef TUTTI_LOOK_UP
}

std::string Api::loader_version() const {
  std::size_t count = 0;
  if (!try_call(loader_get_versions, &count, nullptr)) return {};
  std::vector<zel_component_version_t> versions(count);
  if (!try_call(loader_get_versions, &count, versions.data())) return {};
  for (const zel_component_version_t& row : versions) {
    if (std::string_view(row.component_name) != "loader") continue;
    const zel_version_t& version = row.component_lib_version;
    return std::to_string(version.major) + "." + std::to_string(version.minor) + "." + std::to_string(version.patch);
  }
  return {};
}

Api open_loader(const std::string& setting) {
  const std::string file = setting.empty() ? kLoader : setting;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    throw unavailable("the Level Zero loader cannot be opened (set TUTTI_LEVEL_ZERO_LIBRARY to its file): " +
                      std::string(reason == nullptr ? file : reason));
  }
  Api api([library](const char* name) { return dlsym(library, name); });
  const ze_result_t result = api.init(ZE_INIT_FLAG_GPU_ONLY);
  if (result == ZE_RESULT_SUCCESS) return api;
  const std::string version = version_of_file(library);
  std::string reason = "the Level Zero loader " + (version.empty() ? "" : version + " ") +
                       (result == ZE_RESULT_ERROR_UNINITIALIZED ? "finds no driver" : "does not start") +
                       " (zeInit: " + result_text(result) + ")";
  if (const auto mask = spi::environment("ZE_AFFINITY_MASK"); mask && !mask->empty()) {
    reason += "; ZE_AFFINITY_MASK=" + *mask + " may hide its devices";
  }
  throw unavailable(reason, result);
}

}  // namespace tutti::level_zero_device
