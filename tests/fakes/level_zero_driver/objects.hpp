#pragma once

#include <level_zero/ze_api.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "violations.hpp"

/// The driver's objects. One lock guards all of them; only the copies of bytes run without it.
namespace fake_level_zero {

/// A card or one of its tiles. Lives as long as the process.
struct Device {
  int card = 0;
  int tile = -1;  ///< -1: the whole card
  std::atomic<std::uint64_t> used_bytes = 0;

  [[nodiscard]] std::string name() const {
    return "device " + std::to_string(card) + (tile < 0 ? "" : "." + std::to_string(tile));
  }
};

struct Context {
  int objects = 0;  ///< number of objects in it that were not destroyed
};

/// An allocation. The host cannot access the program's address of device memory; the driver maps the same bytes at a
/// second address.
struct Allocation {
  std::shared_ptr<Context> context;
  Device* device = nullptr;  ///< null: host memory
  ze_memory_type_t type = ZE_MEMORY_TYPE_UNKNOWN;
  std::byte* address = nullptr;  ///< the program's address
  std::byte* view = nullptr;     ///< the driver's address
  std::size_t bytes = 0;
  std::size_t mapped = 0;
  int file = -1;           ///< file of device memory
  int uses = 0;            ///< commands that use it and have not ended
  bool is_opened = false;  ///< opened from a handle
  int exported = -1;       ///< the descriptor in its handles
};

struct EventPool {
  std::shared_ptr<Context> context;
  ze_event_pool_flags_t flags = 0;
  std::vector<bool> slots;  ///< whether the slot has an event
};

struct Event {
  std::shared_ptr<EventPool> pool;
  std::uint32_t index = 0;
  bool is_signalled = false;
  int signallers = 0;  ///< commands that will signal it
  int waiters = 0;     ///< commands that wait for it
  bool has_times = false;
  std::uint64_t begin = 0;  ///< in ticks
  std::uint64_t end = 0;
};

struct Command {
  std::uint64_t number = 0;  ///< in the order in which all commands were appended
  bool is_barrier = false;
  std::byte* to = nullptr;          ///< null: neither copies nor fills
  const std::byte* from = nullptr;  ///< null: fills with `value`
  std::byte value = {};
  std::size_t bytes = 0;
  std::vector<std::shared_ptr<Allocation>> memory;
  std::vector<std::shared_ptr<Event>> waits;
  std::shared_ptr<Event> signal;
};

/// Engine of a device, group and number. Its lists run one command after the other: a command that waits blocks all
/// commands that were appended later to any of these lists.
struct Engine {
  Device* device = nullptr;
  std::uint32_t ordinal = 0;
  std::uint32_t index = 0;

  bool operator==(const Engine&) const = default;
};

struct CommandList {
  std::shared_ptr<Context> context;
  Device* device = nullptr;
  Engine engine;
  std::deque<Command> commands;
  bool is_immediate = true;  ///< otherwise a queue carries the commands out, each time anew
  bool is_busy = false;
  bool is_closing = false;
  std::thread thread;
};

struct Kernel {
  std::string name;
};

/// Handles of one kind. Objects are never freed, so that a destroyed handle is recognised.
template <typename Handle, typename Object>
class Table {
 public:
  Handle add(std::shared_ptr<Object> object) {
    Object* address = object.get();
    live_[address] = object;
    all_.push_back(std::move(object));
    return reinterpret_cast<Handle>(address);
  }
  [[nodiscard]] std::shared_ptr<Object> find(Handle handle) const {
    const auto entry = live_.find(reinterpret_cast<Object*>(handle));
    return entry == live_.end() ? nullptr : entry->second;
  }
  void remove(Handle handle) { live_.erase(reinterpret_cast<Object*>(handle)); }
  [[nodiscard]] const std::unordered_map<Object*, std::shared_ptr<Object>>& live() const noexcept { return live_; }

 private:
  std::unordered_map<Object*, std::shared_ptr<Object>> live_;
  std::vector<std::shared_ptr<Object>> all_;
};

struct World {
  std::mutex mutex;
  std::condition_variable changed;  ///< an event or a command list has changed
  Table<ze_context_handle_t, Context> contexts;
  Table<ze_event_pool_handle_t, EventPool> pools;
  Table<ze_event_handle_t, Event> events;
  Table<ze_command_list_handle_t, CommandList> lists;
  Table<ze_kernel_handle_t, Kernel> kernels;
  std::uint64_t commands = 0;  ///< number of appended commands
};
/// Never destroyed, because threads of command lists may still run when the process exits.
World& world();

/// Records "a context that was destroyed or never made" or the like.
inline ze_result_t unknown_handle(const std::string& function, const std::string& what) {
  return violation(ZE_RESULT_ERROR_INVALID_NULL_HANDLE,
                   function + " got a " + what + " that was destroyed or never made");
}

/// Whether the environment variables show the device to the program.
[[nodiscard]] bool is_visible(const Device* device);
/// Null, and a violation, if there is no such device.
[[nodiscard]] Device* find_device(ze_device_handle_t handle, const std::string& function);
/// Whether commands of `from` can access memory of `owner`.
[[nodiscard]] bool can_access(const Device& from, const Device& owner);

/// The allocation that contains `pointer`; null if there is none. Call with the lock held.
[[nodiscard]] std::shared_ptr<Allocation> find_memory(const void* pointer);
/// Whether `pointer` is in a freed allocation. Call with the lock held.
[[nodiscard]] bool was_freed(const void* pointer);

/// The devices' clock, which has its own frequency and origin.
inline constexpr std::uint64_t kTicksPerSecond = 19'200'000;
inline constexpr std::uint32_t kKernelTimestampBits = 32;
[[nodiscard]] std::uint64_t host_nanoseconds();
[[nodiscard]] std::uint64_t device_ticks();

}  // namespace fake_level_zero
