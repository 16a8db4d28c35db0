// A Level Zero program that counts all of its calls, and prints "name|calls|errors" lines at the end. Two threads, a
// sub-device or tile each.
#include <level_zero/ze_api.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Count {
  long calls = 0;
  long errors = 0;
};
std::mutex mutex;
std::map<std::string, Count> counts;

ze_result_t count(const char* name, ze_result_t result) {
  const std::scoped_lock lock(mutex);
  ++counts[name].calls;
  if (result != ZE_RESULT_SUCCESS && result != ZE_RESULT_NOT_READY) ++counts[name].errors;
  return result;
}
#define TRY(function, ...) count(#function, function(__VA_ARGS__))
#define MUST(function, ...)                                                                 \
  if (const ze_result_t result = TRY(function, __VA_ARGS__); result != ZE_RESULT_SUCCESS) { \
    std::printf(#function " failed with %#x\n", static_cast<unsigned>(result));             \
    std::_Exit(1);                                                                          \
  }

constexpr std::size_t kBytes = 4096;
constexpr std::uint32_t kEvents = 8;

struct Program {
  ze_context_handle_t context = nullptr;
  ze_device_handle_t device = nullptr;
  int rounds = 0;
  bool with_timestamps = true;
  bool with_events = true;  ///< otherwise only barriers have one

  ze_command_list_handle_t list = nullptr;
  ze_event_pool_handle_t pool = nullptr;
  std::array<ze_event_handle_t, kEvents> events = {};
  std::array<void*, 3> memory = {};  ///< of device, shared, host
  ze_kernel_handle_t kernel = nullptr;

  void set_up() {
    make_objects();
    MUST(zeContextMakeMemoryResident, context, device, memory[0], kBytes);
  }

  void make_objects() {
    ze_command_queue_desc_t queue = {};
    queue.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    queue.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
    MUST(zeCommandListCreateImmediate, context, device, &queue, &list);
    ze_event_pool_desc_t description = {};
    description.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC;
    description.flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
    if (with_timestamps) description.flags |= ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
    description.count = kEvents;
    MUST(zeEventPoolCreate, context, &description, 1, &device, &pool);
    for (std::uint32_t i = 0; i < kEvents; ++i) {
      ze_event_desc_t event = {};
      event.stype = ZE_STRUCTURE_TYPE_EVENT_DESC;
      event.index = i;
      event.signal = event.wait = ZE_EVENT_SCOPE_FLAG_HOST;
      MUST(zeEventCreate, pool, &event, &events[i]);
    }
    ze_device_mem_alloc_desc_t on_device = {};
    on_device.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
    ze_host_mem_alloc_desc_t on_host = {};
    on_host.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC;
    MUST(zeMemAllocDevice, context, &on_device, kBytes, 64, device, &memory[0]);
    MUST(zeMemAllocShared, context, &on_device, &on_host, 2 * kBytes, 64, device, &memory[1]);
    MUST(zeMemAllocHost, context, &on_host, 3 * kBytes, 64, &memory[2]);
    ze_module_handle_t module = nullptr;
    ze_module_desc_t text = {};
    text.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
    MUST(zeModuleCreate, context, device, &text, &module, nullptr);
    ze_kernel_desc_t name = {};
    name.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
    name.pKernelName = "_ZTSN3app4AxpyIfEE";  // app::Axpy<float>
    MUST(zeKernelCreate, module, &name, &kernel);
  }

  [[nodiscard]] ze_event_handle_t event_of(std::size_t command) const {
    return with_events ? events[command] : nullptr;
  }

  void await(ze_event_handle_t event) {
    if (event == nullptr) return;
    // Polls a few times, then waits: queries that find nothing are no errors.
    for (int i = 0; i < 3; ++i) (void)TRY(zeEventQueryStatus, event);
    MUST(zeEventHostSynchronize, event, UINT64_MAX);
  }

  void immediate_round() {
    std::vector<std::byte> ordinary(kBytes);
    const std::byte pattern{7};
    const ze_group_count_t groups = {1, 1, 1};
    MUST(zeCommandListAppendMemoryCopy, list, memory[0], ordinary.data(), kBytes, event_of(0), 0, nullptr);
    await(event_of(0));
    MUST(zeCommandListAppendMemoryCopy, list, memory[2], memory[0], kBytes / 2, event_of(1), 0, nullptr);
    await(event_of(1));
    MUST(zeCommandListAppendMemoryFill, list, memory[1], &pattern, 1, 100, event_of(2), 0, nullptr);
    await(event_of(2));
    MUST(zeCommandListAppendLaunchKernel, list, kernel, &groups, event_of(3), 0, nullptr);
    await(event_of(3));
    for (std::size_t i = 0; with_events && i < 4; ++i) MUST(zeEventHostReset, events[i]);
    // Without an event: traffic, but no times unless they are forced.
    MUST(zeCommandListAppendMemoryCopy, list, memory[1], memory[2], 10, nullptr, 0, nullptr);
    MUST(zeCommandListAppendBarrier, list, events[4], 0, nullptr);
    await(events[4]);
    MUST(zeEventHostReset, events[4]);
  }

  /// More commands without an event than one pool of events serves.
  void burst() {
    const ze_group_count_t groups = {1, 1, 1};
    for (int i = 0; i < 300; ++i) MUST(zeCommandListAppendLaunchKernel, list, kernel, &groups, nullptr, 0, nullptr);
    MUST(zeCommandListAppendBarrier, list, events[4], 0, nullptr);
    await(events[4]);
    MUST(zeEventHostReset, events[4]);
  }

  /// Appends a copy once and executes it in each round.
  void listed_rounds() {
    ze_command_queue_desc_t queue_description = {};
    queue_description.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
    ze_command_queue_handle_t queue = nullptr;
    MUST(zeCommandQueueCreate, context, device, &queue_description, &queue);
    ze_command_list_desc_t description = {};
    description.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC;
    ze_command_list_handle_t regular = nullptr;
    MUST(zeCommandListCreate, context, device, &description, &regular);
    MUST(zeCommandListAppendMemoryCopy, regular, memory[2], memory[0], 1000, event_of(5), 0, nullptr);
    MUST(zeCommandListClose, regular);
    for (int i = 0; i < rounds; ++i) {
      MUST(zeCommandQueueExecuteCommandLists, queue, 1, &regular, nullptr);
      if (!with_events) MUST(zeCommandQueueExecuteCommandLists, queue, 1, &regular, nullptr);
      MUST(zeCommandQueueSynchronize, queue, UINT64_MAX);
      if (with_events) MUST(zeEventHostReset, events[5]);
    }
    MUST(zeCommandListDestroy, regular);
    MUST(zeCommandQueueDestroy, queue);
  }

  void fail() {
    ze_device_mem_alloc_desc_t description = {};
    description.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
    void* none = nullptr;
    if (TRY(zeMemAllocDevice, context, &description, std::size_t{1} << 50U, 64, device, &none) == ZE_RESULT_SUCCESS)
      std::_Exit(1);
    std::byte ordinary{};
    if (TRY(zeContextMakeMemoryResident, context, device, &ordinary, 1) == ZE_RESULT_SUCCESS) std::_Exit(1);
  }

  void tear_down() {
    for (void* pointer : memory) MUST(zeMemFree, context, pointer);
    MUST(zeKernelDestroy, kernel);
    MUST(zeCommandListDestroy, list);
    for (const ze_event_handle_t event : events) MUST(zeEventDestroy, event);
    MUST(zeEventPoolDestroy, pool);
  }

  void operator()() {
    set_up();
    for (int i = 0; i < rounds; ++i) immediate_round();
    listed_rounds();
    if (!with_events) burst();
    fail();
    tear_down();
  }
};

}  // namespace

/// usage: level_zero_program ROUNDS timestamps|plain|none
int main(int, char** arguments) {
  MUST(zeInit, 0);
  // The tracer is made after the first call: its name is not counted.
  counts.clear();
  std::uint32_t one = 1;
  ze_driver_handle_t driver = nullptr;
  ze_device_handle_t device = nullptr;
  MUST(zeDriverGet, &one, &driver);
  MUST(zeDeviceGet, driver, &one, &device);
  std::uint32_t two = 2;
  std::array<ze_device_handle_t, 2> tiles = {};
  MUST(zeDeviceGetSubDevices, device, &two, tiles.data());
  if (two == 0) {  // the driver shows tiles as devices
    two = 2;
    MUST(zeDeviceGet, driver, &two, tiles.data());
  }
  ze_context_desc_t description = {};
  description.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC;
  ze_context_handle_t context = nullptr;
  MUST(zeContextCreate, driver, &description, &context);
  std::vector<std::thread> threads;
  for (const ze_device_handle_t tile : tiles)
    threads.emplace_back(Program{context, tile, std::atoi(arguments[1]), std::strcmp(arguments[2], "timestamps") == 0,
                                 std::strcmp(arguments[2], "none") != 0});
  for (std::thread& thread : threads) thread.join();
  MUST(zeContextDestroy, context);
  for (const auto& [name, calls] : counts) std::printf("%s|%ld|%ld\n", name.c_str(), calls.calls, calls.errors);
  return 0;
}
