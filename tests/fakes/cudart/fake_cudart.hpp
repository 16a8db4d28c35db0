#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

/// What the fake CUDA has beyond CUDA's own interface: for the tests, and for the fakes of libraries built on CUDA.
///
/// Settings of the fake, from the environment: FAKE_CUDA_DEVICES (2), FAKE_CUDA_DRIVER (the driver's version as in
/// cudaDriverGetVersion; 0: none), FAKE_CUDA_PEERS, FAKE_CUDA_NVLINKS (links between each two devices, or to
/// switches with FAKE_CUDA_NVSWITCH), FAKE_CUDA_NVLINK_VERSION (as nvmlNvlinkVersion_t numbers them; 6 is 4.0),
/// FAKE_CUDA_STREAM_MEMORY_OPERATIONS, FAKE_CUDA_CONCURRENT_MANAGED, FAKE_CUDA_NVML (each 0: it has none) and
/// FAKE_CUDA_DELAY_US (mean time that work on a stream takes at least).
extern "C" {

/// Work that a kernel would do: `body` runs on the stream's own thread, in stream order. It may wait for other streams,
/// which a host function must not: all host functions of the process share one thread.
cudaError_t fake_cuda_launch(cudaStream_t stream, void (*body)(void*), void* argument);

/// Where the CPU finds memory that the device of `stream` is about to use, all `bytes` of it; null, and the use is a
/// violation, when a kernel on that device could not: host memory that is not pinned, freed memory, memory of another
/// device without peer access, or past the end. From the body of a launch or from the host.
void* fake_cuda_access(cudaStream_t stream, const void* pointer, std::size_t bytes);

/// Where the CPU finds the memory behind a pointer; the pointer itself where it is no device memory, null where it is
/// freed. Checks nothing else.
void* fake_cuda_host_view(const void* pointer);

/// Records something a real device would not have done right; for fakes built on this one.
void fake_cuda_violation(const char* text);

/// How many violations there were, and forgets them; `text` gets one line each. A process that ends with violations
/// that nobody asked for prints them and ends with status 86.
int fake_cuda_take_violations(char* text, std::size_t bytes);

/// Lets allocations wait until their device has nothing left to do, as CUDA reserves the right to: whoever allocates
/// must not be the one that the device waits for.
void fake_cuda_let_allocations_wait(bool wait);

/// Forgets the error a violation left behind, after which a device refuses everything.
void fake_cuda_repair(void);
}
