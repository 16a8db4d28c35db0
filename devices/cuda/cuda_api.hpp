#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <functional>
#include <string>
#include <string_view>

#include "tutti/spi/instrument.hpp"

namespace tutti::cuda_device {

/// Address of a symbol of a library, or null.
using SymbolLookup = std::function<void*(const char*)>;

/// Every call into CUDA goes through this table. It is filled at run time, so nothing of CUDA is linked and every call
/// is reported to the observer. It has only functions with the same signature in CUDA 11, 12 and 13. Structures that
/// grew are those of the newest version, of which an older library fills the beginning.
struct Api {
  /// Looks up the functions of libcudart. Throws Error{backend_unavailable} naming the first that is missing.
  explicit Api(const SymbolLookup& runtime);
  /// Looks up the functions of libcuda, which are usable only after this. Throws like the constructor.
  void add_driver(const SymbolLookup& driver);

  template <typename Function>
  using Vendor = spi::VendorFunction<Function>;

  Vendor<decltype(&cudaRuntimeGetVersion)> runtime_get_version;
  Vendor<decltype(&cudaDriverGetVersion)> driver_get_version;
  Vendor<decltype(&cudaGetLastError)> get_last_error;
  Vendor<decltype(&cudaGetDeviceCount)> get_device_count;
  Vendor<decltype(&cudaGetDevice)> get_device;
  Vendor<decltype(&cudaDeviceGetAttribute)> device_get_attribute;
  Vendor<decltype(&cudaDeviceGetPCIBusId)> device_get_pci_bus_id;
  Vendor<decltype(&cudaDeviceCanAccessPeer)> device_can_access_peer;
  Vendor<decltype(&cudaDeviceEnablePeerAccess)> device_enable_peer_access;
  Vendor<decltype(&cudaDeviceGetStreamPriorityRange)> device_get_stream_priority_range;
  Vendor<cudaError_t (*)(cudaDeviceProp*, int)> get_device_properties;
  Vendor<cudaError_t (*)(void**, std::size_t)> malloc;
  Vendor<cudaError_t (*)(void**, std::size_t, unsigned int)> malloc_managed;
  Vendor<cudaError_t (*)(void**, std::size_t, unsigned int)> host_alloc;
  Vendor<decltype(&cudaFree)> free;
  Vendor<decltype(&cudaFreeHost)> free_host;
  Vendor<decltype(&cudaPointerGetAttributes)> pointer_get_attributes;
  Vendor<decltype(&cudaMemcpyAsync)> memcpy_async;
  Vendor<decltype(&cudaMemsetAsync)> memset_async;
  Vendor<decltype(&cudaIpcGetMemHandle)> ipc_get_mem_handle;
  Vendor<decltype(&cudaIpcOpenMemHandle)> ipc_open_mem_handle;
  Vendor<decltype(&cudaIpcCloseMemHandle)> ipc_close_mem_handle;
  Vendor<decltype(&cudaStreamCreateWithPriority)> stream_create_with_priority;
  Vendor<decltype(&cudaStreamDestroy)> stream_destroy;
  Vendor<decltype(&cudaStreamWaitEvent)> stream_wait_event;
  Vendor<decltype(&cudaStreamIsCapturing)> stream_is_capturing;
  Vendor<decltype(&cudaLaunchHostFunc)> launch_host_func;
  Vendor<cudaError_t (*)(cudaEvent_t*, unsigned int)> event_create_with_flags;
  Vendor<decltype(&cudaEventDestroy)> event_destroy;
  Vendor<decltype(&cudaEventRecord)> event_record;
  Vendor<decltype(&cudaEventQuery)> event_query;
  Vendor<decltype(&cudaEventSynchronize)> event_synchronize;
  Vendor<decltype(&cudaEventElapsedTime)> event_elapsed_time;

  /// Functions of the driver that the runtime has no counterpart of.
  Vendor<decltype(&cuGetErrorString)> get_error_string;
  Vendor<decltype(&cuDeviceGet)> device_get;
  Vendor<decltype(&cuDevicePrimaryCtxRetain)> primary_ctx_retain;
  Vendor<decltype(&cuCtxGetCurrent)> ctx_get_current;
  Vendor<decltype(&cuCtxPushCurrent)> ctx_push_current;
  Vendor<decltype(&cuCtxPopCurrent)> ctx_pop_current;
  Vendor<decltype(&cuCtxGetDevice)> ctx_get_device;
  Vendor<decltype(&cuStreamGetCtx)> stream_get_ctx;
  Vendor<decltype(&cuMemGetAddressRange)> mem_get_address_range;
  Vendor<decltype(&cuPointerGetAttribute)> pointer_get_attribute;
  /// Missing in drivers before CUDA 11.7.
  Vendor<decltype(&cuStreamWaitValue32)> stream_wait_value32;

  /// Calls a function. Throws Error{backend_failure} when it fails, Error{system} when memory is exhausted.
  template <typename Result, typename... Parameters, typename... Arguments>
  void call(Vendor<Result (*)(Parameters...)> Api::*function, Arguments... arguments) const {
    const Result result = (this->*function)(arguments...);
    if (result != Result{}) [[unlikely]]
      fail((this->*function).name(), result);
  }
  /// Throws the Error of call().
  [[noreturn]] void fail(std::string_view function, cudaError_t error) const;
  [[noreturn]] void fail(std::string_view function, CUresult error) const;
  /// "out of memory (2)"
  [[nodiscard]] std::string text(cudaError_t error) const;

 private:
  const char* (*error_text_)(cudaError_t) = nullptr;
};

}  // namespace tutti::cuda_device
