// Functions of the driver library that the runtime does not have.
#include <cuda.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "machine.hpp"
#include "memory.hpp"
#include "streams.hpp"

using namespace tutti::test::fake_cuda;

namespace {

/// The driver's error codes used here have the same values as those of the runtime.
CUresult driver_code(cudaError_t error) { return static_cast<CUresult>(error); }
static_assert(static_cast<int>(CUDA_ERROR_INVALID_VALUE) == static_cast<int>(cudaErrorInvalidValue));
static_assert(static_cast<int>(CUDA_ERROR_INVALID_HANDLE) == static_cast<int>(cudaErrorInvalidResourceHandle));
static_assert(static_cast<int>(CUDA_ERROR_NO_DEVICE) == static_cast<int>(cudaErrorNoDevice));
static_assert(static_cast<int>(CUDA_ERROR_NOT_SUPPORTED) == static_cast<int>(cudaErrorNotSupported));

CUcontext handle_of(Context* context) { return reinterpret_cast<CUcontext>(context); }
Context* context_of(CUcontext handle) { return reinterpret_cast<Context*>(handle); }

}  // namespace

CUresult cuDriverGetVersion(int* version) {
  *version = Machine::instance().driver_version();
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : "error of the fake driver";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (const cudaError_t error = may_call("cuDeviceGet")) return driver_code(error);
  if (!Machine::instance().has(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  Machine& machine = Machine::instance();
  if (const cudaError_t error = may_call("cuDevicePrimaryCtxRetain")) return driver_code(error);
  if (!machine.has(device)) return CUDA_ERROR_INVALID_DEVICE;
  machine.device(device).has_context = true;
  *context = handle_of(&machine.device(device).context);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return Machine::instance().has(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int* flags, int* is_active) {
  if (!Machine::instance().has(device)) return CUDA_ERROR_INVALID_DEVICE;
  *flags = 0;
  *is_active = Machine::instance().device(device).has_context ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  if (const cudaError_t error = may_call("cuCtxGetCurrent")) return driver_code(error);
  const auto& contexts = this_thread().contexts;
  *context = handle_of(contexts.empty() ? nullptr : contexts.back());
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  if (const cudaError_t error = may_call("cuCtxPushCurrent")) return driver_code(error);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  this_thread().contexts.push_back(context_of(context));
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (const cudaError_t error = may_call("cuCtxPopCurrent")) return driver_code(error);
  auto& contexts = this_thread().contexts;
  if (contexts.empty() || contexts.back() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = handle_of(contexts.back());
  contexts.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  const auto& contexts = this_thread().contexts;
  if (contexts.empty() || contexts.back() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = contexts.back()->device;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  if (const cudaError_t error = may_call("cuStreamGetCtx")) return driver_code(error);
  StreamPointer stream;
  if (const cudaError_t error = StreamTable::instance().find(handle, stream)) return driver_code(error);
  *context = handle_of(&Machine::instance().device(stream->device()).context);
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitValue32_v2(CUstream handle, CUdeviceptr address, cuuint32_t value, unsigned int flags) {
  if (const cudaError_t error = may_call("cuStreamWaitValue32")) return driver_code(error);
  if (setting("FAKE_CUDA_STREAM_MEMORY_OPERATIONS", 1) == 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (flags != CU_STREAM_WAIT_VALUE_GEQ) return CUDA_ERROR_NOT_SUPPORTED;
  StreamPointer stream;
  if (const cudaError_t error = StreamTable::instance().find(handle, stream)) return driver_code(error);
  Access access;
  const auto* pointer = reinterpret_cast<const void*>(address);
  if (const cudaError_t error = resolve_for_kernel(stream->device(), pointer, sizeof value, access)) {
    return driver_code(error);
  }
  return driver_code(StreamTable::instance().enqueue(stream, [access, value] {
    auto& word = *reinterpret_cast<std::uint32_t*>(access.view);
    while (static_cast<std::int32_t>(std::atomic_ref(word).load(std::memory_order_acquire) - value) < 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return cudaSuccess;
  }));
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr pointer) {
  if (const cudaError_t error = may_call("cuPointerGetAttribute")) return driver_code(error);
  const BlockPointer block = MemoryTable::instance().find(reinterpret_cast<const void*>(pointer));
  if (block == nullptr || attribute != CU_POINTER_ATTRIBUTE_BUFFER_ID) return CUDA_ERROR_INVALID_VALUE;
  // Addresses are never reused, so the address identifies the block.
  const unsigned long long number = block->address;
  std::memcpy(data, &number, sizeof number);
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr pointer) {
  if (const cudaError_t error = may_call("cuMemGetAddressRange")) return driver_code(error);
  const BlockPointer block = MemoryTable::instance().find(reinterpret_cast<const void*>(pointer));
  if (block == nullptr) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = block->address;
  if (bytes != nullptr) *bytes = block->bytes;
  return CUDA_SUCCESS;
}
