#include "event_times.hpp"

#include <new>

namespace tutti::profiling::ze {

void EventTimes::expect(ze_event_handle_t event, const DeviceCommand& command) noexcept {
  try {
    const std::scoped_lock lock(mutex_);
    commands_.insert_or_assign(event, command);
  } catch (const std::bad_alloc&) {
    return;
  }
}

void EventTimes::collect(ze_event_handle_t event) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = commands_.find(event);
  if (found != commands_.end() && record_times(event, found->second)) commands_.erase(found);
}

void EventTimes::collect_all() noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase_if(commands_, [&](const auto& entry) { return record_times(entry.first, entry.second); });
}

void EventTimes::forget(ze_event_handle_t event) noexcept {
  const std::scoped_lock lock(mutex_);
  const auto found = commands_.find(event);
  if (found == commands_.end()) return;
  (void)record_times(event, found->second);
  commands_.erase(found);
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
