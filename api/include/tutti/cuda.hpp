#pragma once

#include <cuda_runtime_api.h>

#include "tutti/spi/device.hpp"
#include "tutti/stream.hpp"
#include "tutti/types/buffer.hpp"

/// Interoperability with CUDA applications. Header-only, needs cuda_runtime_api.h; libtutti itself is not built with
/// CUDA. The application may link the CUDA runtime statically or use another version than tutti: streams and memory
/// belong to the driver, which both share.
namespace tutti::cuda {

/// Stream of a CUDA handle. An operation on it runs after everything enqueued before and before everything enqueued
/// later; the call returns immediately. Buffers are memory of the stream's device: from cudaMalloc, cudaMallocManaged
/// or cudaMallocHost, or registered. The CUDA stream may be destroyed once the call has returned.
///
/// A null handle is the default stream of the current device: the legacy one, or the per-thread one if the caller is
/// compiled with CUDA_API_PER_THREAD_DEFAULT_STREAM. Use a per-thread stream (cudaStreamPerThread) on its own thread
/// only.
///
/// Throws Error{backend_unavailable} if tutti's CUDA module is missing or not usable, and Error{invalid_argument} for a
/// stream of a context other than the device's primary one.
[[nodiscard]] inline Stream stream(cudaStream_t handle) {
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
  return adopt_stream("cuda", handle == nullptr ? cudaStreamPerThread : handle);
#else
  return adopt_stream("cuda", handle == nullptr ? cudaStreamLegacy : handle);
#endif
}

/// CUDA's number of the device that `device` ("cuda:1") names. Throws Error{config} if it belongs to another module.
[[nodiscard]] inline int device(Device device) { return *static_cast<const int*>(spi::native_device(device, "cuda")); }

}  // namespace tutti::cuda
