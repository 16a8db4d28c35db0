#pragma once

#include <cuda_runtime_api.h>

#include "tutti/buffer.hpp"
#include "tutti/spi/device.hpp"
#include "tutti/stream.hpp"

/// For applications that use CUDA themselves. Header-only: include it where cuda_runtime_api.h is at hand; libtutti
/// itself is not built with any CUDA. The application's CUDA runtime may be linked statically or be of another version
/// than the one tutti finds: streams and memory belong to the driver, which is the same for both.
namespace tutti::cuda {

/// The stream behind a handle. Operations on it come after everything enqueued on it before them and before everything
/// enqueued later; the call returns at once. Buffers are memory of the stream's device: of cudaMalloc,
/// cudaMallocManaged, cudaMallocHost or registered. Once a call has returned, the stream may be destroyed.
///
/// The null stream is the default stream of the device that is current now: the legacy one, or the thread's own where
/// the caller is compiled for that. The stream of a thread (cudaStreamPerThread) is that thread's: use it there only.
///
/// Throws Error{backend_unavailable} when tutti's module for CUDA is not there or not usable, and
/// Error{invalid_argument} for a stream of another context than the device's primary one.
[[nodiscard]] inline Stream stream(cudaStream_t handle) {
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
  return adopt_stream("cuda", handle == nullptr ? cudaStreamPerThread : handle);
#else
  return adopt_stream("cuda", handle == nullptr ? cudaStreamLegacy : handle);
#endif
}

/// CUDA's number of the device that `device` ("cuda:1") names. Throws Error{config} when it is of another module.
[[nodiscard]] inline int device(Device device) { return *static_cast<const int*>(spi::native_device(device, "cuda")); }

}  // namespace tutti::cuda
