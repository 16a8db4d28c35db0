#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

/// Functions of the fake CUDA beyond CUDA's own interface, for the tests and for fakes of libraries built on CUDA.
///
/// Environment variables of the fake: FAKE_CUDA_DEVICES (default 2), FAKE_CUDA_DRIVER (the driver's version as in
/// cudaDriverGetVersion; 0: no driver), FAKE_CUDA_PEERS, FAKE_CUDA_NVLINKS (links between each two devices, or to
/// switches with FAKE_CUDA_NVSWITCH), FAKE_CUDA_NVLINK_VERSION (a value of nvmlNvlinkVersion_t; 6 is 4.0),
/// FAKE_CUDA_STREAM_MEMORY_OPERATIONS, FAKE_CUDA_CONCURRENT_MANAGED, FAKE_CUDA_NVML (0: the machine does not have it)
/// and FAKE_CUDA_DELAY_US (mean of the minimum time of a piece of work on a stream).
extern "C" {

/// Launches a "kernel": `body` runs on the stream's own thread, in stream order. It may wait for other streams; a host
/// function must not, because all host functions of the process share one thread.
cudaError_t fake_cuda_launch(cudaStream_t stream, void (*body)(void*), void* argument);

/// CPU address of `bytes` bytes of memory that the device of `stream` is about to use. Null, and a violation, if a
/// kernel on that device could not access them: host memory that is not pinned, freed memory, memory of another device
/// without peer access, or bytes past the end. May be called from the body of a launch or from the host.
void* fake_cuda_access(cudaStream_t stream, const void* pointer, std::size_t bytes);

/// CPU address of the memory behind a pointer: the pointer itself if it is not device memory, null if the device memory
/// was freed. Checks nothing else.
void* fake_cuda_host_view(const void* pointer);

/// Records a use that fails on a real device; for fakes built on this one.
void fake_cuda_violation(const char* text);

/// Returns the number of violations, writes one line each to `text`, and forgets them. A process that exits with
/// violations that were not taken prints them and exits with status 86.
int fake_cuda_take_violations(char* text, std::size_t bytes);

/// Makes allocations wait until their device is idle, which CUDA allows itself: a thread that the device waits for must
/// not allocate.
void fake_cuda_let_allocations_wait(bool wait);

/// Clears the error of a violation, because of which a device refuses all calls.
void fake_cuda_repair(void);
}
