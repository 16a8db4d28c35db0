#pragma once

#include <level_zero/ze_api.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

/// Level Zero code of an application, which calls the driver without tutti.
namespace tutti::test {

inline void check(ze_result_t result, const char* what) {
  if (result != ZE_RESULT_SUCCESS) throw std::runtime_error(what + (" failed with " + std::to_string(result)));
}
#define TUTTI_ZE(call) ::tutti::test::check(call, #call)

inline ze_driver_handle_t first_driver() {
  TUTTI_ZE(zeInit(0));
  std::uint32_t count = 1;
  ze_driver_handle_t driver = nullptr;
  TUTTI_ZE(zeDriverGet(&count, &driver));
  return driver;
}

/// The first device, or a sub-device of it.
inline ze_device_handle_t first_device(int part = -1) {
  std::uint32_t count = 1;
  ze_device_handle_t device = nullptr;
  TUTTI_ZE(zeDeviceGet(first_driver(), &count, &device));
  if (part < 0) return device;
  count = static_cast<std::uint32_t>(part) + 1;
  std::vector<ze_device_handle_t> parts(count);
  TUTTI_ZE(zeDeviceGetSubDevices(device, &count, parts.data()));
  return parts.at(static_cast<std::size_t>(part));
}

/// A context with an immediate command list on a device, and events. Frees its memory and its events on destruction.
class LevelZeroApplication {
 public:
  static constexpr std::uint32_t kEvents = 16;

  explicit LevelZeroApplication(ze_device_handle_t on, std::uint32_t in_group = 0, std::uint32_t number = 0)
      : device(on), ordinal(in_group), index(number) {
    ze_context_desc_t context_desc = {};
    context_desc.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
    TUTTI_ZE(zeContextCreate(first_driver(), &context_desc, &context));
    ze_command_queue_desc_t queue = {};
    queue.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    queue.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    queue.ordinal = ordinal;
    queue.index = index;
    TUTTI_ZE(zeCommandListCreateImmediate(context, device, &queue, &list));
    ze_event_pool_desc_t pool_desc = {};
    pool_desc.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    pool_desc.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
    pool_desc.count = kEvents;
    ze_device_handle_t devices = device;
    TUTTI_ZE(zeEventPoolCreate(context, &pool_desc, 1, &devices, &pool_));
  }
  ~LevelZeroApplication() {
    for (void* pointer : memory_) zeMemFree(context, pointer);
    zeCommandListDestroy(list);
    for (const ze_event_handle_t event : events_) zeEventDestroy(event);
    zeEventPoolDestroy(pool_);
    zeContextDestroy(context);
  }
  LevelZeroApplication(const LevelZeroApplication&) = delete;
  LevelZeroApplication& operator=(const LevelZeroApplication&) = delete;

  [[nodiscard]] ze_event_handle_t event() {
    ze_event_desc_t desc = {};
    desc.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
    desc.index = static_cast<std::uint32_t>(events_.size());
    desc.signal = ZE_EVENT_SCOPE_FLAG_HOST;
    desc.wait = ZE_EVENT_SCOPE_FLAG_HOST;
    ze_event_handle_t made = nullptr;
    TUTTI_ZE(zeEventCreate(pool_, &desc, &made));
    events_.push_back(made);
    return made;
  }
  template <typename T = float>
  [[nodiscard]] T* device_memory(std::size_t count) {
    ze_device_mem_alloc_desc_t desc = {};
    desc.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
    void* pointer = nullptr;
    TUTTI_ZE(zeMemAllocDevice(context, &desc, count * sizeof(T), 64, device, &pointer));
    memory_.push_back(pointer);
    return static_cast<T*>(pointer);
  }
  template <typename T = float>
  [[nodiscard]] T* host_memory(std::size_t count) {
    ze_host_mem_alloc_desc_t desc = {};
    desc.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
    void* pointer = nullptr;
    TUTTI_ZE(zeMemAllocHost(context, &desc, count * sizeof(T), 64, &pointer));
    memory_.push_back(pointer);
    return static_cast<T*>(pointer);
  }
  /// Frees memory before the destructor does.
  void free(void* pointer) {
    std::erase(memory_, pointer);
    TUTTI_ZE(zeMemFree(context, pointer));
  }
  template <typename T>
  void copy(T* to, const T* from, std::size_t count) {
    TUTTI_ZE(zeCommandListAppendMemoryCopy(list, to, from, count * sizeof(T), nullptr, 0, nullptr));
  }
  void barrier() { TUTTI_ZE(zeCommandListAppendBarrier(list, nullptr, 0, nullptr)); }
  /// Waits for all appended commands.
  void finish() {
    if (last_ == nullptr) last_ = event();
    TUTTI_ZE(zeCommandListAppendBarrier(list, last_, 0, nullptr));
    TUTTI_ZE(zeEventHostSynchronize(last_, UINT64_MAX));
    TUTTI_ZE(zeEventHostReset(last_));
  }

  ze_device_handle_t device;
  std::uint32_t ordinal;
  std::uint32_t index;
  ze_context_handle_t context = nullptr;
  ze_command_list_handle_t list = nullptr;

 private:
  ze_event_pool_handle_t pool_ = nullptr;
  ze_event_handle_t last_ = nullptr;
  std::vector<ze_event_handle_t> events_;
  std::vector<void*> memory_;
};

}  // namespace tutti::test
