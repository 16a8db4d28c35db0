// Loads the source as the CUDA driver does, and plays a program's calls and device work to it. With the stand-in for
// CUPTI alone: there is no CUDA in it.
#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "fake_cupti.h"

namespace {

std::atomic<std::uint32_t> next_correlation = 1;

constexpr auto kRuntime = CUPTI_CB_DOMAIN_RUNTIME_API;
constexpr auto kDriver = CUPTI_CB_DOMAIN_DRIVER_API;

void put_device(std::uint32_t number, const char* name) {
  CUpti_ActivityDevice5 device = {};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.id = number;
  device.name = name;
  std::memset(&device.uuid, static_cast<int>(number) + 1, sizeof device.uuid);
  fake_cupti_put(&device, sizeof device);
}

void put_memory(std::uint32_t device, CUpti_ActivityMemoryOperationType operation, std::uint64_t bytes) {
  CUpti_ActivityMemory4 memory = {};
  memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  memory.memoryOperationType = operation;
  memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  memory.deviceId = device;
  memory.bytes = bytes;
  memory.timestamp = fake_cupti_time();
  fake_cupti_put(&memory, sizeof memory);
}

void put_copy(std::uint32_t device, std::uint32_t correlation) {
  CUpti_ActivityMemcpy6 copy = {};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = 1000;
  copy.deviceId = device;
  copy.correlationId = correlation;
  copy.start = fake_cupti_time();
  copy.end = copy.start + 500;
  fake_cupti_put(&copy, sizeof copy);
}

void put_kernel(std::uint32_t device, std::uint32_t correlation) {
  CUpti_ActivityKernel10 kernel = {};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.name = "_ZN3app4axpyIfEEvv";  // void app::axpy<float>()
  kernel.deviceId = device;
  kernel.correlationId = correlation;
  kernel.start = fake_cupti_time();
  kernel.end = kernel.start + 700;
  fake_cupti_put(&kernel, sizeof kernel);
}

void put_fill(std::uint32_t device, std::uint32_t correlation) {
  CUpti_ActivityMemset4 fill = {};
  fill.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  fill.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
  fill.bytes = 10;
  fill.deviceId = device;
  fill.correlationId = correlation;
  fill.start = fake_cupti_time();
  fill.end = fill.start + 100;
  fake_cupti_put(&fill, sizeof fill);
}

void round(std::uint32_t device) {
  const auto call = [](const char* name, CUpti_CallbackId number, int result) {
    const std::uint32_t correlation = next_correlation++;
    fake_cupti_call(kRuntime, number, name, correlation, result, nullptr, nullptr);
    return correlation;
  };
  call("cudaMalloc_v3020", 20, 0);
  put_memory(device, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, 1000);
  // The runtime calls the driver.
  std::uint32_t correlation = next_correlation++;
  const auto inner = [](void* data) {
    fake_cupti_call(kDriver, 276, "cuMemcpyHtoD_v2", *static_cast<std::uint32_t*>(data), 0, nullptr, nullptr);
  };
  fake_cupti_call(kRuntime, 31, "cudaMemcpy_v3020", correlation, 0, inner, &correlation);
  put_copy(device, correlation);
  put_kernel(device, call("cudaLaunchKernel_v7000", 211, 0));
  put_fill(device, call("cudaMemset_v3020", 51, 0));
  call("cudaEventQuery_v3020", 136, 600);  // not ready
  call("cudaMalloc_v3020", 20, 2);         // out of memory
  fake_cupti_call(kDriver, 17, "cuCtxSynchronize", next_correlation++, 0, nullptr, nullptr);
  call("cudaFree_v3020", 22, 0);
  put_memory(device, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, 1000);
}

}  // namespace

/// usage: cuda_program SOURCE ROUNDS
int main(int, char** arguments) {
  void* source = dlopen(arguments[1], RTLD_NOW);
  if (source == nullptr) {
    std::puts(dlerror());
    return 1;
  }
  const auto initialise = reinterpret_cast<int (*)()>(dlsym(source, "InitializeInjection"));
  if (initialise == nullptr || initialise() != 1) return 1;
  put_device(0, "first GPU");
  put_device(1, "second GPU");
  const int rounds = std::atoi(arguments[2]);
  const auto work = [rounds](std::uint32_t device) {
    for (int i = 0; i < rounds; ++i) round(device);
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  std::puts("done");
  return 0;
}
