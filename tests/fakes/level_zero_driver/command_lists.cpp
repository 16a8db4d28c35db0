// Immediate command lists, each with a thread. Level Zero does not order commands without a barrier or event between
// them: of these, the thread runs the newest first, after a short time in which more may be appended. So a program that
// relies on an order that is not guaranteed gets wrong results.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "driver.hpp"

namespace fake_level_zero {

namespace {

constexpr std::chrono::microseconds kLaunchTime{20};

bool is_ready(const Command& command) {
  for (const auto& event : command.waits) {
    if (!event->is_signalled) return false;
  }
  return true;
}

/// Number of the first waiting command in another list of the same engine, which blocks the engine.
std::uint64_t first_waiting_elsewhere(const CommandList& list) {
  std::uint64_t first = UINT64_MAX;
  for (const auto& [address, other] : world().lists.live()) {
    if (address == &list || other->engine != list.engine) continue;
    for (const Command& command : other->commands) {
      if (!is_ready(command)) first = std::min(first, command.number);
    }
  }
  return first;
}

/// The newest command that may run, or end(). A command may not run before an earlier barrier, a barrier not before any
/// earlier command, and no command after one that blocks the engine.
std::deque<Command>::iterator choose(CommandList& list) {
  auto& commands = list.commands;
  if (commands.empty()) return commands.end();
  const std::uint64_t end = first_waiting_elsewhere(list);
  const auto may_run = [end](const Command& command) { return command.number < end && is_ready(command); };
  if (commands.front().is_barrier) return may_run(commands.front()) ? commands.begin() : commands.end();
  auto chosen = commands.end();
  for (auto command = commands.begin(); command != commands.end() && !command->is_barrier; ++command) {
    if (may_run(*command)) chosen = command;
  }
  return chosen;
}

/// Releases the memory and events of a command. Call with the lock held.
void release(const Command& command) {
  for (const auto& block : command.memory) --block->uses;
  for (const auto& event : command.waits) --event->waiters;
  if (command.signal != nullptr) --command.signal->signallers;
}

void carry_out(const Command& command) {
  if (command.to == nullptr) return;
  std::this_thread::sleep_for(kLaunchTime);
  if (command.from == nullptr)
    std::memset(command.to, static_cast<int>(command.value), command.bytes);
  else
    std::memmove(command.to, command.from, command.bytes);
}

void work(CommandList& list) {
  std::unique_lock lock(world().mutex);
  while (true) {
    auto next = list.commands.end();
    world().changed.wait(lock, [&] {
      next = choose(list);
      return list.is_closing || next != list.commands.end();
    });
    if (list.is_closing) return;
    if (!next->is_barrier) {
      // Commands that are appended meanwhile may overtake this one.
      lock.unlock();
      std::this_thread::sleep_for(kLaunchTime);
      lock.lock();
      next = choose(list);
      if (next == list.commands.end()) continue;  // a command of another list blocks the engine now
    }
    const Command command = std::move(*next);
    list.commands.erase(next);
    list.is_busy = true;
    lock.unlock();
    const std::uint64_t begin = device_ticks();
    carry_out(command);
    const std::uint64_t end = device_ticks();
    lock.lock();
    list.is_busy = false;
    release(command);
    if (Event* event = command.signal.get()) {
      event->is_signalled = true;
      event->has_times = true;
      event->begin = begin;
      event->end = end;
    }
    world().changed.notify_all();
  }
}

/// Gives a command to the thread of a list. Call with the lock held.
void submit(CommandList& list, Command command) {
  for (const auto& block : command.memory) ++block->uses;
  for (const auto& event : command.waits) ++event->waiters;
  if (command.signal != nullptr) ++command.signal->signallers;
  command.number = ++world().commands;
  list.commands.push_back(std::move(command));
  world().changed.notify_all();
}

/// State of an append; keeps the first error.
struct Append {
  std::string function;
  std::shared_ptr<CommandList> list;
  Command command;
  ze_result_t result = ZE_RESULT_SUCCESS;

  void refuse(const std::string& text) {
    if (result == ZE_RESULT_SUCCESS) result = violation(ZE_RESULT_ERROR_INVALID_ARGUMENT, function + " " + text);
  }

  /// CPU address of memory of the program.
  std::byte* reach(const void* pointer, std::size_t bytes) {
    auto* address = static_cast<std::byte*>(const_cast<void*>(pointer));
    const auto block = find_memory(pointer);
    if (block == nullptr) {
      if (was_freed(pointer)) refuse("uses memory that was freed");
      if (pointer == nullptr) refuse("uses a null pointer");
      return address;  // copies may use ordinary host memory
    }
    if (block->context != list->context) refuse("uses memory of another context");
    const auto offset = static_cast<std::size_t>(address - block->address);
    if (offset + bytes > block->bytes) {
      refuse("goes " + std::to_string(offset + bytes - block->bytes) + " bytes beyond the end of the memory");
    }
    if (block->type == ZE_MEMORY_TYPE_DEVICE && !can_access(*list->device, *block->device)) {
      refuse("on " + list->device->name() + " uses memory of " + block->device->name() + ", which it cannot access");
    }
    command.memory.push_back(block);
    return block->view + offset;
  }

  void take_events(ze_event_handle_t signal, std::uint32_t waits, ze_event_handle_t* events) {
    for (std::uint32_t i = 0; i < waits; ++i) {
      command.waits.push_back(world().events.find(events[i]));
      if (command.waits.back() == nullptr) refuse("waits for an event that was destroyed or never made");
    }
    if (signal == nullptr) return;
    command.signal = world().events.find(signal);
    if (command.signal == nullptr) {
      refuse("signals an event that was destroyed or never made");
    } else if (command.signal->is_signalled || command.signal->signallers > 0) {
      refuse("signals an event that was not reset after its last signal");
    } else if (command.signal->pool->context != list->context) {
      refuse("signals an event of another context");
    }
  }

  ze_result_t enqueue() {
    if (result != ZE_RESULT_SUCCESS) return result;
    if (list->is_immediate)
      submit(*list, std::move(command));
    else
      list->commands.push_back(std::move(command));
    return ZE_RESULT_SUCCESS;
  }
};

template <typename Body>
ze_result_t append(ze_command_list_handle_t handle, const char* function, const Body& body) {
  const std::scoped_lock lock(world().mutex);
  Append request{function, world().lists.find(handle), {}};
  if (request.list == nullptr) return unknown_handle(function, "command list");
  body(request);
  return request.enqueue();
}

}  // namespace

ze_result_t list_create_immediate(ze_context_handle_t context, ze_device_handle_t device,
                                  const ze_command_queue_desc_t* desc, ze_command_list_handle_t* handle) {
  const std::scoped_lock lock(world().mutex);
  auto list = std::make_shared<CommandList>();
  list->context = world().contexts.find(context);
  if (list->context == nullptr) return unknown_handle("zeCommandListCreateImmediate", "context");
  list->device = find_device(device, "zeCommandListCreateImmediate");
  if (list->device == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (desc->ordinal >= queue_groups() || desc->index >= queues_per_group()) {
    return violation(ZE_RESULT_ERROR_INVALID_ARGUMENT, "zeCommandListCreateImmediate got queue " +
                                                           std::to_string(desc->ordinal) + "/" +
                                                           std::to_string(desc->index) + ", which does not exist");
  }
  list->engine = {list->device, desc->ordinal, desc->index};
  ++list->context->objects;
  CommandList& made = *list;
  *handle = world().lists.add(std::move(list));
  made.thread = std::thread([&made] { work(made); });
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_create(ze_context_handle_t context, ze_device_handle_t device, const ze_command_list_desc_t*,
                        ze_command_list_handle_t* handle) {
  const std::scoped_lock lock(world().mutex);
  auto list = std::make_shared<CommandList>();
  list->context = world().contexts.find(context);
  if (list->context == nullptr) return unknown_handle("zeCommandListCreate", "context");
  list->device = find_device(device, "zeCommandListCreate");
  if (list->device == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  list->is_immediate = false;
  ++list->context->objects;
  *handle = world().lists.add(std::move(list));
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_close(ze_command_list_handle_t handle) {
  const std::scoped_lock lock(world().mutex);
  return world().lists.find(handle) == nullptr ? unknown_handle("zeCommandListClose", "command list")
                                               : ZE_RESULT_SUCCESS;
}

ze_result_t list_reset(ze_command_list_handle_t handle) {
  const std::scoped_lock lock(world().mutex);
  const auto list = world().lists.find(handle);
  if (list == nullptr) return unknown_handle("zeCommandListReset", "command list");
  list->commands.clear();
  return ZE_RESULT_SUCCESS;
}

ze_result_t list_destroy(ze_command_list_handle_t handle) {
  std::shared_ptr<CommandList> list;
  ze_result_t result = ZE_RESULT_SUCCESS;
  {
    const std::scoped_lock lock(world().mutex);
    list = world().lists.find(handle);
    if (list == nullptr) return unknown_handle("zeCommandListDestroy", "command list");
    const std::size_t left = list->is_immediate ? list->commands.size() + (list->is_busy ? 1 : 0) : 0;
    if (left > 0) {
      result =
          violation(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                    "zeCommandListDestroy got a list with " + std::to_string(left) + " commands that have not ended");
    }
    for (const Command& command : list->commands) {
      if (list->is_immediate) release(command);
    }
    list->commands.clear();
    list->is_closing = true;
    --list->context->objects;
    world().lists.remove(handle);
    world().changed.notify_all();
  }
  if (list->thread.joinable()) list->thread.join();
  return result;
}

ze_result_t list_append_barrier(ze_command_list_handle_t list, ze_event_handle_t signal, std::uint32_t waits,
                                ze_event_handle_t* events) {
  return append(list, "zeCommandListAppendBarrier", [&](Append& request) {
    request.command.is_barrier = true;
    request.take_events(signal, waits, events);
  });
}

ze_result_t list_append_copy(ze_command_list_handle_t list, void* to, const void* from, std::size_t bytes,
                             ze_event_handle_t signal, std::uint32_t waits, ze_event_handle_t* events) {
  return append(list, "zeCommandListAppendMemoryCopy", [&](Append& request) {
    request.command.to = request.reach(to, bytes);
    request.command.from = request.reach(from, bytes);
    request.command.bytes = bytes;
    request.take_events(signal, waits, events);
  });
}

ze_result_t list_append_fill(ze_command_list_handle_t list, void* to, const void* pattern, std::size_t pattern_bytes,
                             std::size_t bytes, ze_event_handle_t signal, std::uint32_t waits,
                             ze_event_handle_t* events) {
  if (pattern_bytes != 1) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  return append(list, "zeCommandListAppendMemoryFill", [&](Append& request) {
    request.command.to = request.reach(to, bytes);
    request.command.value = *static_cast<const std::byte*>(pattern);
    request.command.bytes = bytes;
    request.take_events(signal, waits, events);
  });
}

ze_result_t list_append_kernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t*,
                               ze_event_handle_t signal, std::uint32_t waits, ze_event_handle_t* events) {
  return append(list, "zeCommandListAppendLaunchKernel", [&](Append& request) {
    if (world().kernels.find(kernel) == nullptr) request.refuse("launches a kernel that was destroyed or never made");
    request.take_events(signal, waits, events);
  });
}

ze_result_t list_append_signal(ze_command_list_handle_t list, ze_event_handle_t event) {
  return append(list, "zeCommandListAppendSignalEvent",
                [&](Append& request) { request.take_events(event, 0, nullptr); });
}

ze_result_t list_append_wait(ze_command_list_handle_t list, std::uint32_t waits, ze_event_handle_t* events) {
  // By the specification, later commands wait for the events, as with a barrier that waits for events.
  return list_append_barrier(list, nullptr, waits, events);
}

ze_result_t queue_create(ze_context_handle_t context, ze_device_handle_t device, const ze_command_queue_desc_t* desc,
                         ze_command_queue_handle_t* queue) {
  return list_create_immediate(context, device, desc, reinterpret_cast<ze_command_list_handle_t*>(queue));
}

ze_result_t queue_destroy(ze_command_queue_handle_t queue) {
  return list_destroy(reinterpret_cast<ze_command_list_handle_t>(queue));
}

ze_result_t queue_execute(ze_command_queue_handle_t queue, std::uint32_t count, ze_command_list_handle_t* lists,
                          ze_fence_handle_t) {
  const std::scoped_lock lock(world().mutex);
  const auto target = world().lists.find(reinterpret_cast<ze_command_list_handle_t>(queue));
  if (target == nullptr) return unknown_handle("zeCommandQueueExecuteCommandLists", "queue");
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto list = world().lists.find(lists[i]);
    if (list == nullptr) return unknown_handle("zeCommandQueueExecuteCommandLists", "command list");
    for (const Command& command : list->commands) submit(*target, command);
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t queue_synchronize(ze_command_queue_handle_t queue, std::uint64_t timeout_ns) {
  std::unique_lock lock(world().mutex);
  const auto list = world().lists.find(reinterpret_cast<ze_command_list_handle_t>(queue));
  if (list == nullptr) return unknown_handle("zeCommandQueueSynchronize", "queue");
  const auto is_empty = [&] { return list->commands.empty() && !list->is_busy; };
  if (timeout_ns == UINT64_MAX) {
    world().changed.wait(lock, is_empty);
    return ZE_RESULT_SUCCESS;
  }
  const bool done = world().changed.wait_for(lock, std::chrono::nanoseconds(timeout_ns), is_empty);
  return done ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

}  // namespace fake_level_zero
