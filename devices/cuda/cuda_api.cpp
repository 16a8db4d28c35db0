#include "cuda_api.hpp"

#include "tutti/error.hpp"

namespace tutti::cuda_device {

namespace {

// member, name in the library (in the header, names of functions with several versions are macros)
#define TUTTI_CUDART_CALLS(X)                                           \
  X(runtime_get_version, cudaRuntimeGetVersion)                         \
  X(driver_get_version, cudaDriverGetVersion)                           \
  X(get_last_error, cudaGetLastError)                                   \
  X(get_device_count, cudaGetDeviceCount)                               \
  X(get_device, cudaGetDevice)                                          \
  X(device_get_attribute, cudaDeviceGetAttribute)                       \
  X(device_get_pci_bus_id, cudaDeviceGetPCIBusId)                       \
  X(device_can_access_peer, cudaDeviceCanAccessPeer)                    \
  X(device_enable_peer_access, cudaDeviceEnablePeerAccess)              \
  X(device_get_stream_priority_range, cudaDeviceGetStreamPriorityRange) \
  X(get_device_properties, cudaGetDeviceProperties)                     \
  X(malloc, cudaMalloc)                                                 \
  X(malloc_managed, cudaMallocManaged)                                  \
  X(host_alloc, cudaHostAlloc)                                          \
  X(free, cudaFree)                                                     \
  X(free_host, cudaFreeHost)                                            \
  X(pointer_get_attributes, cudaPointerGetAttributes)                   \
  X(memcpy_async, cudaMemcpyAsync)                                      \
  X(memset_async, cudaMemsetAsync)                                      \
  X(ipc_get_mem_handle, cudaIpcGetMemHandle)                            \
  X(ipc_open_mem_handle, cudaIpcOpenMemHandle)                          \
  X(ipc_close_mem_handle, cudaIpcCloseMemHandle)                        \
  X(stream_create_with_priority, cudaStreamCreateWithPriority)          \
  X(stream_destroy, cudaStreamDestroy)                                  \
  X(stream_wait_event, cudaStreamWaitEvent)                             \
  X(stream_is_capturing, cudaStreamIsCapturing)                         \
  X(launch_host_func, cudaLaunchHostFunc)                               \
  X(event_create_with_flags, cudaEventCreateWithFlags)                  \
  X(event_destroy, cudaEventDestroy)                                    \
  X(event_record, cudaEventRecord)                                      \
  X(event_query, cudaEventQuery)                                        \
  X(event_synchronize, cudaEventSynchronize)                            \
  X(event_elapsed_time, cudaEventElapsedTime)

#define TUTTI_CUDA_DRIVER_CALLS(X)                  \
  X(get_error_string, cuGetErrorString)             \
  X(device_get, cuDeviceGet)                        \
  X(primary_ctx_retain, cuDevicePrimaryCtxRetain)   \
  X(ctx_get_current, cuCtxGetCurrent)               \
  X(ctx_push_current, cuCtxPushCurrent_v2)          \
  X(ctx_pop_current, cuCtxPopCurrent_v2)            \
  X(ctx_get_device, cuCtxGetDevice)                 \
  X(stream_get_ctx, cuStreamGetCtx)                 \
  X(mem_get_address_range, cuMemGetAddressRange_v2) \
  X(pointer_get_attribute, cuPointerGetAttribute)

template <typename Function>
void require(spi::VendorFunction<Function>& function, std::string_view library, std::string_view name,
             const SymbolLookup& lookup) {
  function = spi::VendorFunction<Function>(library, name);
  function.set(reinterpret_cast<Function>(lookup(name.data())));
  if (function) return;
  throw Error(ErrorCode::backend_unavailable,
              "function " + std::string(name) + " of lib" + std::string(library) + " is missing", "cuda");
}

}  // namespace

Api::Api(const SymbolLookup& runtime) {
#define TUTTI_LOOK_UP(member, name) require(member, "cudart", #name, runtime);
  TUTTI_CUDART_CALLS(TUTTI_LOOK_UP)
#undef TUTTI_LOOK_UP
  error_text_ = reinterpret_cast<decltype(error_text_)>(runtime("cudaGetErrorString"));
  if (error_text_ == nullptr)
    throw Error(ErrorCode::backend_unavailable, "function cudaGetErrorString of libcudart is missing", "cuda");
}

void Api::add_driver(const SymbolLookup& driver) {
#define TUTTI_LOOK_UP(member, name) require(member, "cuda", #name, driver);
  TUTTI_CUDA_DRIVER_CALLS(TUTTI_LOOK_UP)
#undef TUTTI_LOOK_UP
  stream_wait_value32 = decltype(stream_wait_value32)("cuda", "cuStreamWaitValue32_v2");
  stream_wait_value32.set(reinterpret_cast<decltype(stream_wait_value32)::Pointer>(driver("cuStreamWaitValue32_v2")));
}

std::string Api::text(cudaError_t error) const {
  const std::uint64_t begin = observer() == nullptr ? 0 : observer_time_ns();
  const char* words = error_text_(error);
  if (Observer* target = observer()) {
    target->on(HostCall{spi::current_operation(), "cudart", "cudaGetErrorString", 0, begin, observer_time_ns()});
  }
  return std::string(words) + " (" + std::to_string(static_cast<int>(error)) + ")";
}

void Api::fail(std::string_view function, cudaError_t error) const {
  // Clears the error that the runtime remembers: the application must not find an error of tutti's calls.
  (void)get_last_error();
  const ErrorCode code = error == cudaErrorMemoryAllocation ? ErrorCode::system : ErrorCode::backend_failure;
  throw Error(code, std::string(function) + ": " + text(error), "cuda", error);
}

void Api::fail(std::string_view function, CUresult error) const {
  const char* words = nullptr;
  (void)get_error_string(error, &words);
  throw Error(ErrorCode::backend_failure,
              std::string(function) + ": " + (words == nullptr ? "unknown error" : words) + " (" +
                  std::to_string(static_cast<int>(error)) + ")",
              "cuda", error);
}

}  // namespace tutti::cuda_device
