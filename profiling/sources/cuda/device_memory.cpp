#include "device_memory.hpp"

#include <dlfcn.h>

#include <cstdio>

namespace tutti::profiling::cuda {

namespace {
constexpr int kSuccess = 0;
}  // namespace

// NVML's header is in no package that tutti needs otherwise; these functions have not changed since CUDA 9.
DeviceMemory::DeviceMemory(SourceId source) noexcept : source_(source) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return;
  const auto find = [&]<typename Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  };
  int (*init)() = nullptr;
  decltype(get_memory_) get_memory = nullptr;
  if (find(init, "nvmlInit_v2") && find(get_handle_, "nvmlDeviceGetHandleByUUID") &&
      find(get_memory, "nvmlDeviceGetMemoryInfo") && init() == kSuccess)
    get_memory_ = get_memory;
}

void DeviceMemory::add(DeviceId id, const unsigned char (&uuid)[16]) noexcept {
  if (get_memory_ == nullptr) return;
  char name[64] = "GPU-";
  std::size_t length = 4;
  for (std::size_t i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) name[length++] = '-';
    length += static_cast<std::size_t>(std::snprintf(name + length, sizeof name - length, "%02x", uuid[i]));
  }
  const std::scoped_lock lock(mutex_);
  Handle handle = nullptr;
  Memory memory{};
  if (count_ == devices_.size() || get_handle_(name, &handle) != kSuccess || get_memory_(handle, &memory) != kSuccess)
    return;
  devices_[count_++] = {handle, UsedMemory(id, memory.used)};
}

void DeviceMemory::sample() noexcept {
  if (get_memory_ == nullptr || !is_recording()) return;
  const std::scoped_lock lock(mutex_);
  for (std::size_t i = 0; i < count_; ++i) {
    Device& device = devices_[i];
    Memory memory{};
    if (get_memory_(device.handle, &memory) == kSuccess) device.memory.change_to(source_, memory.used);
  }
}

}  // namespace tutti::profiling::cuda
