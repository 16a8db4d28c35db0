// libcudart: devices, errors and versions.
#include <cstdio>
#include <cstring>
#include <string>

#include "machine.hpp"
#include "streams.hpp"

using namespace tutti::test::fake_cuda;

namespace {

cudaError_t check_device(const char* function, int device) {
  if (const cudaError_t error = may_call(function)) return leave(error);
  return Machine::instance().has(device) ? cudaSuccess : leave(cudaErrorInvalidDevice);
}

struct ErrorText {
  cudaError_t code;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorDeviceUninitialized, "cudaErrorDeviceUninitialized", "invalid device context"},
    {cudaErrorMapBufferObjectFailed, "cudaErrorMapBufferObjectFailed", "mapping of buffer object failed"},
    {cudaErrorAlreadyMapped, "cudaErrorAlreadyMapped", "resource already mapped"},
    {cudaErrorPeerAccessUnsupported, "cudaErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {cudaErrorPeerAccessNotEnabled, "cudaErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
};

const ErrorText* text_of(cudaError_t error) {
  for (const ErrorText& row : kErrors) {
    if (row.code == error) return &row;
  }
  return nullptr;
}

}  // namespace

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = kRuntimeVersion;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = Machine::instance().driver_version();
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (const cudaError_t error = may_call("cudaGetDeviceCount")) return leave(error);
  *count = Machine::instance().device_count();
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  if (const cudaError_t error = may_call("cudaGetDevice")) return leave(error);
  *device = current_device();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (const cudaError_t error = check_device("cudaSetDevice", device)) return error;
  ThreadState& state = this_thread();
  state.device = device;
  if (!state.contexts.empty()) state.contexts.back() = nullptr;
  (void)use_current_device();  // since CUDA 12, cudaSetDevice() creates the context
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (const cudaError_t error = check_device("cudaDeviceGetAttribute", device)) return error;
  // The runtime has no name for this attribute of the driver.
  constexpr auto kStreamMemoryOperations = static_cast<cudaDeviceAttr>(CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = 4;
      break;
    case cudaDevAttrUnifiedAddressing:
      *value = 1;
      break;
    case cudaDevAttrManagedMemory:
      *value = 1;
      break;
    case cudaDevAttrConcurrentManagedAccess:
      *value = setting("FAKE_CUDA_CONCURRENT_MANAGED", 1);
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 8;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      break;
    case cudaDevAttrIpcEventSupport:
      *value = 1;
      break;
    case kStreamMemoryOperations:
      *value = setting("FAKE_CUDA_STREAM_MEMORY_OPERATIONS", 1);
      break;
    default:
      return leave(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (const cudaError_t error = check_device("cudaGetDeviceProperties", device)) return error;
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "%s", Machine::instance().name(device).c_str());
  std::snprintf(properties->uuid.bytes, sizeof properties->uuid.bytes, "fake %s",
                Machine::instance().address(device).substr(5).c_str());
  properties->totalGlobalMem = kDeviceBytes;
  properties->major = 8;
  properties->multiProcessorCount = 4;
  properties->unifiedAddressing = 1;
  properties->managedMemory = 1;
  properties->pciBusID = 0x0a + 0x10 * Machine::instance().device(device).physical;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int bytes, int device) {
  if (const cudaError_t error = check_device("cudaDeviceGetPCIBusId", device)) return error;
  std::snprintf(text, static_cast<std::size_t>(bytes), "%s", Machine::instance().address(device).c_str());
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  if (const cudaError_t error = may_call("cudaMemGetInfo")) return leave(error);
  *total = kDeviceBytes;
  *free_bytes = kDeviceBytes - Machine::instance().device(use_current_device()).used_bytes;
  return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (const cudaError_t error = check_device("cudaDeviceCanAccessPeer", device)) return error;
  if (const cudaError_t error = check_device("cudaDeviceCanAccessPeer", peer)) return error;
  *can = device != peer && Machine::may_be_peers() ? 1 : 0;
  return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  if (const cudaError_t error = check_device("cudaDeviceEnablePeerAccess", peer)) return error;
  if (flags != 0) return leave(cudaErrorInvalidValue);
  const int device = use_current_device();
  if (device == peer) return leave(cudaErrorInvalidDevice);
  if (!Machine::may_be_peers()) return leave(cudaErrorPeerAccessUnsupported);
  return leave(Machine::instance().set_peer(device, peer, true) ? cudaSuccess : cudaErrorPeerAccessAlreadyEnabled);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  if (const cudaError_t error = check_device("cudaDeviceDisablePeerAccess", peer)) return error;
  const bool was_on = Machine::instance().set_peer(use_current_device(), peer, false);
  return leave(was_on ? cudaSuccess : cudaErrorPeerAccessNotEnabled);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  if (const cudaError_t error = may_call("cudaDeviceSynchronize")) return leave(error);
  return leave(StreamTable::instance().await_idle(use_current_device()));
}

cudaError_t cudaGetLastError() { return std::exchange(this_thread().last_error, cudaSuccess); }

cudaError_t cudaPeekAtLastError() { return this_thread().last_error; }

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* row = text_of(error);
  return row == nullptr ? "unrecognized error code" : row->name;
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* row = text_of(error);
  return row == nullptr ? "unrecognized error code" : row->text;
}
