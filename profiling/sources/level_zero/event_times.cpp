#include "event_times.hpp"

#include <new>

namespace tutti::profiling::ze {

void EventTimes::expect(ze_event_handle_t event, const DeviceCommand& command) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    const auto [place, is_new] = commands_.try_emplace(event);
    place->second.is_repeated = !is_new && command.owner == EventOwner::source_listed;
    // Of executions on several queues nobody knows when all have ended.
    const bool is_elsewhere = place->second.is_repeated && place->second.command.queue != command.queue;
    place->second.command = command;
    if (is_elsewhere) place->second.command.queue = nullptr;
  } catch (const std::bad_alloc&) {
    return;
  }
}

void EventTimes::collect(ze_event_handle_t event) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = commands_.find(event);
  if (found != commands_.end() && is_done(event, found->second)) commands_.erase(found);
}

void EventTimes::collect_all() noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase_if(commands_, [&](const auto& entry) { return is_done(entry.first, entry.second); });
}

void EventTimes::collect_queue(ze_command_queue_handle_t queue) noexcept {
  const std::scoped_lock lock(mutex_);
  for (auto& [event, entry] : commands_) {
    if (entry.command.queue == queue) entry.is_repeated = false;
  }
  std::erase_if(commands_, [&](const auto& entry) { return is_done(entry.first, entry.second); });
}

void EventTimes::forget(ze_event_handle_t event) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = commands_.find(event);
  if (found == commands_.end()) return;
  (void)record_times(event, found->second.command);
  commands_.erase(found);
}

bool EventTimes::is_done(ze_event_handle_t event, const Entry& entry) noexcept {
  if (entry.is_repeated || !record_times(event, entry.command)) return false;
  switch (entry.command.owner) {
    case EventOwner::program:
      break;
    case EventOwner::source_once:
      own_events_.give_back(event);
      break;
    case EventOwner::source_listed:
      own_events_.reset(event);
      break;
  }
  return true;
}

bool EventTimes::record_times(ze_event_handle_t event, const DeviceCommand& command) const noexcept {
  const OwnCall own;
  ze_kernel_timestamp_result_t times = {};
  const ze_result_t result = loader_.event_query_kernel_timestamp(event, &times);
  if (result == ZE_RESULT_NOT_READY) return false;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  if (result != ZE_RESULT_SUCCESS || !is_recording() ||
      !devices_.host_times(command.device, times.global, begin_ns, end_ns))
    return true;
  record({.kind = Kind::device,
          .source = source_,
          .name = command.name,
          .context = command.context,
          .device = devices_.id_of(command.device),
          .begin_ns = begin_ns,
          .end_ns = end_ns,
          .correlation = command.correlation});
  return true;
}

}  // namespace tutti::profiling::ze
