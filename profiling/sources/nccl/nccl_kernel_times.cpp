#include "sources/nccl/nccl_kernel_times.hpp"

#include <dlfcn.h>

#include <algorithm>

#include "sources/common/device_identity.hpp"

namespace tutti::profiling::nccl::plugin {

KernelTask* KernelTimes::begin_task(const Record& record, std::uint32_t channels) noexcept {
  KernelTask& task = tasks_[next_task_.fetch_add(1, std::memory_order_relaxed) % kTasks];
  const std::scoped_lock lock(task.mutex);
  record_times(task);  // of an operation whose channels have not all ended
  task.record = record;
  task.is_open = true;
  task.channels = channels;
  task.begin = task.end = 0;
  return &task;
}

KernelChannel* KernelTimes::begin_channel(KernelTask* task, std::uint64_t device_time) noexcept {
  for (std::size_t i = 0; i < 64; ++i) {
    KernelChannel& one = channels_[next_channel_.fetch_add(1, std::memory_order_relaxed) % kChannels];
    // Acquire: its last user has read it.
    if (one.is_used.load(std::memory_order_relaxed) || one.is_used.exchange(true, std::memory_order_acquire)) continue;
    one.task = task;
    one.begin = device_time;
    one.end = 0;
    return &one;
  }
  return nullptr;
}

void KernelTimes::end_channel(KernelChannel& channel) noexcept {
  if (channel.end >= channel.begin && channel.end != 0) {
    // Relaxed: the number alone matters.
    const auto offset = static_cast<std::int64_t>(now_ns() - channel.end);
    std::int64_t least = offset_.load(std::memory_order_relaxed);
    while (offset < least && !offset_.compare_exchange_weak(least, offset, std::memory_order_relaxed)) {
    }
    KernelTask& task = *channel.task;
    const std::scoped_lock lock(task.mutex);
    if (task.is_open) {
      task.begin = task.begin == 0 ? channel.begin : std::min(task.begin, channel.begin);
      task.end = std::max(task.end, channel.end);
      if (task.channels != 0 && --task.channels == 0) record_times(task);
    }
  }
  channel.is_used.store(false, std::memory_order_release);
}

/// Call with the lock held.
void KernelTimes::record_times(KernelTask& task) noexcept {
  if (!task.is_open) return;
  task.is_open = false;
  if (task.begin == 0) return;
  const auto offset = static_cast<std::uint64_t>(offset_.load(std::memory_order_relaxed));
  Record event = task.record;
  event.begin_ns = task.begin + offset;
  event.end_ns = task.end + offset;
  record(event);
}

void KernelTimes::finish() noexcept {
  for (KernelTask& task : tasks_) {
    const std::scoped_lock lock(task.mutex);
    record_times(task);
  }
}

KernelTimes& kernel_times() noexcept {
  // Never destroyed: NCCL's threads may report until the process ends.
  static auto& all = *new KernelTimes;
  return all;
}

DeviceId current_device(int rank) noexcept {
  struct Uuid {
    unsigned char bytes[16] = {};
  } uuid;
  char name[128] = "GPU";
  int device = 0;
  // NCCL needs the driver, so that it is loaded; the stand-in of the tests works without.
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  const auto find = [driver]<typename Function>(Function& function, const char* symbol) {
    function = driver == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(driver, symbol));
    return function != nullptr;
  };
  int (*get_device)(int*) = nullptr;
  int (*get_uuid)(Uuid*, int) = nullptr;
  int (*get_name)(char*, int, int) = nullptr;
  const bool is_known = find(get_device, "cuCtxGetDevice") && find(get_uuid, "cuDeviceGetUuid") &&
                        find(get_name, "cuDeviceGetName") && get_device(&device) == 0 && get_uuid(&uuid, device) == 0;
  if (is_known) (void)get_name(name, sizeof name - 1, device);
  if (driver != nullptr) dlclose(driver);
  const auto number = static_cast<std::uint64_t>(static_cast<unsigned>(rank)) + 1;
  return add_device({.name = name, .device = is_known ? device_identity(uuid.bytes) : number});
}

}  // namespace tutti::profiling::nccl::plugin
