#include <chrono>

#include "driver.hpp"
#include "fake_level_zero.h"

namespace fake_level_zero {

namespace {

/// Number of queries until they fail; below 0: they do not fail. Guarded by the lock.
int queries_left = -1;

/// Calls `body` with the event and the lock held.
template <typename Body>
ze_result_t with_event(ze_event_handle_t handle, const std::string& function, const Body& body) {
  std::unique_lock lock(world().mutex);
  const auto event = world().events.find(handle);
  if (event == nullptr) return unknown_handle(function, "event");
  return body(*event, lock);
}

ze_result_t check_host_visible(const Event& event, const std::string& function) {
  if ((event.pool->flags & ZE_EVENT_POOL_FLAG_HOST_VISIBLE) != 0) return ZE_RESULT_SUCCESS;
  return violation(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                   function + " got an event of a pool that is not visible to the host");
}

}  // namespace

ze_result_t pool_create(ze_context_handle_t context, const ze_event_pool_desc_t* desc, std::uint32_t devices,
                        ze_device_handle_t* handles, ze_event_pool_handle_t* pool) {
  const std::scoped_lock lock(world().mutex);
  auto made = std::make_shared<EventPool>();
  made->context = world().contexts.find(context);
  if (made->context == nullptr) return unknown_handle("zeEventPoolCreate", "context");
  for (std::uint32_t i = 0; i < devices; ++i) {
    if (find_device(handles[i], "zeEventPoolCreate") == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  }
  if (desc->count == 0) return ZE_RESULT_ERROR_INVALID_SIZE;
  made->flags = desc->flags;
  made->slots.resize(desc->count);
  ++made->context->objects;
  *pool = world().pools.add(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t pool_destroy(ze_event_pool_handle_t handle) {
  const std::scoped_lock lock(world().mutex);
  const auto pool = world().pools.find(handle);
  if (pool == nullptr) return unknown_handle("zeEventPoolDestroy", "event pool");
  for (const bool is_taken : pool->slots) {
    if (is_taken) {
      return violation(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "zeEventPoolDestroy got a pool with events in it");
    }
  }
  --pool->context->objects;
  world().pools.remove(handle);
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_create(ze_event_pool_handle_t handle, const ze_event_desc_t* desc, ze_event_handle_t* event) {
  const std::scoped_lock lock(world().mutex);
  const auto pool = world().pools.find(handle);
  if (pool == nullptr) return unknown_handle("zeEventCreate", "event pool");
  if (desc->index >= pool->slots.size() || pool->slots[desc->index]) {
    return violation(ZE_RESULT_ERROR_INVALID_ARGUMENT, "zeEventCreate got index " + std::to_string(desc->index) +
                                                           ", which is in use or outside the pool");
  }
  pool->slots[desc->index] = true;
  auto made = std::make_shared<Event>();
  made->pool = pool;
  made->index = desc->index;
  *event = world().events.add(made);
  return ZE_RESULT_SUCCESS;
}

ze_result_t event_destroy(ze_event_handle_t handle) {
  return with_event(handle, "zeEventDestroy", [&](Event& event, auto&) {
    if (event.signallers + event.waiters > 0) {
      return violation(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                       "zeEventDestroy got an event of commands that have not ended");
    }
    event.pool->slots[event.index] = false;
    world().events.remove(handle);
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t event_signal(ze_event_handle_t handle) {
  return with_event(handle, "zeEventHostSignal", [](Event& event, auto&) {
    if (const ze_result_t result = check_host_visible(event, "zeEventHostSignal"); result != ZE_RESULT_SUCCESS) {
      return result;
    }
    if (event.signallers > 0) {
      return violation(ZE_RESULT_ERROR_INVALID_ARGUMENT, "zeEventHostSignal got an event that a command will signal");
    }
    event.is_signalled = true;
    world().changed.notify_all();
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t event_synchronize(ze_event_handle_t handle, std::uint64_t timeout_ns) {
  return with_event(handle, "zeEventHostSynchronize", [&](Event& event, std::unique_lock<std::mutex>& lock) {
    if (const ze_result_t result = check_host_visible(event, "zeEventHostSynchronize"); result != ZE_RESULT_SUCCESS) {
      return result;
    }
    const auto has_come = [&] { return event.is_signalled; };
    if (timeout_ns == UINT64_MAX) {
      world().changed.wait(lock, has_come);
      return ZE_RESULT_SUCCESS;
    }
    const auto time = std::chrono::nanoseconds(std::min<std::uint64_t>(timeout_ns, INT64_MAX / 4));
    return world().changed.wait_for(lock, time, has_come) ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
  });
}

ze_result_t event_query(ze_event_handle_t handle) {
  return with_event(handle, "zeEventQueryStatus", [](Event& event, auto&) {
    if (queries_left == 0) return ZE_RESULT_ERROR_DEVICE_LOST;
    if (queries_left > 0) --queries_left;
    return event.is_signalled ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
  });
}

ze_result_t event_reset(ze_event_handle_t handle) {
  return with_event(handle, "zeEventHostReset", [](Event& event, auto&) {
    if (event.signallers + event.waiters > 0) {
      return violation(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                       "zeEventHostReset got an event of commands that have not ended");
    }
    event.is_signalled = false;
    event.has_times = false;
    return ZE_RESULT_SUCCESS;
  });
}

ze_result_t event_get_times(ze_event_handle_t handle, ze_kernel_timestamp_result_t* times) {
  return with_event(handle, "zeEventQueryKernelTimestamp", [&](Event& event, auto&) {
    if ((event.pool->flags & ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP) == 0) {
      return violation(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                       "zeEventQueryKernelTimestamp got an event of a pool without timestamps");
    }
    if (!event.has_times) return ZE_RESULT_NOT_READY;
    constexpr std::uint64_t kMask = (std::uint64_t{1} << kKernelTimestampBits) - 1;
    times->global = {event.begin & kMask, event.end & kMask};
    times->context = times->global;
    return ZE_RESULT_SUCCESS;
  });
}

}  // namespace fake_level_zero

void fake_level_zero_fail_queries(int after) {
  const std::scoped_lock lock(fake_level_zero::world().mutex);
  fake_level_zero::queries_left = after;
}
