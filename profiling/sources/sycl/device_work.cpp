#include "device_work.hpp"

#include <new>

#include "runtime_functions.hpp"

namespace tutti::profiling {

void DeviceWork::expect(ur::Event event, const DeviceCommand& command, bool is_ours) noexcept {
  bool is_taken = false;
  try {
    const std::scoped_lock lock(mutex_);
    if (!is_finished_ && pending_.size() < kMaxPending) {
      pending_.insert_or_assign(event, Entry{command, is_ours});
      is_taken = true;
      // A program that never waits, or waits in other ways than the source knows.
      if (pending_.size() >= next_collection_) collect_locked();
    }
  } catch (const std::bad_alloc&) {
    is_taken = false;
  }
  if (!is_taken && is_ours) {
    const OwnCall own;
    runtime_functions().event_release(event);
  }
}

void DeviceWork::complete(const ur::Event* events, std::uint32_t count) noexcept {
  const OwnCall own;
  const std::scoped_lock lock(mutex_);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto found = pending_.find(events[i]);
    if (found == pending_.end()) continue;
    record_times(found->first, found->second.command);
    if (found->second.has_reference) runtime_functions().event_release(found->first);
    pending_.erase(found);
  }
}

void DeviceWork::release(ur::Event event) noexcept {
  const OwnCall own;
  const std::scoped_lock lock(mutex_);
  const auto found = pending_.find(event);
  if (found == pending_.end() || found->second.has_reference) return;
  if (is_complete(event)) {
    record_times(event, found->second.command);
    pending_.erase(found);
  } else if (runtime_functions().event_retain(event) == ur::kSuccess) {
    found->second.has_reference = true;
  } else {
    pending_.erase(found);
  }
}

void DeviceWork::collect() noexcept {
  const std::scoped_lock lock(mutex_);
  collect_locked();
}

void DeviceWork::collect_locked() noexcept {
  const OwnCall own;
  std::erase_if(pending_, [&](const auto& entry) { return is_done(entry.first, entry.second); });
  next_collection_ = pending_.size() + kCollectionStep;
}

bool DeviceWork::is_done(ur::Event event, const Entry& entry) noexcept {
  if (!is_complete(event)) return false;
  record_times(event, entry.command);
  if (entry.has_reference) runtime_functions().event_release(event);
  return true;
}

void DeviceWork::finish() noexcept {
  const OwnCall own;
  const std::scoped_lock lock(mutex_);
  collect_locked();
  is_finished_ = true;
  for (const auto& [event, entry] : pending_) {
    if (entry.has_reference) runtime_functions().event_release(event);
  }
  pending_.clear();
}

bool DeviceWork::is_complete(ur::Event event) noexcept {
  std::int32_t status = -1;
  const ur::Result result =
      runtime_functions().event_get_info(event, ur::kEventExecutionStatus, sizeof status, &status, nullptr);
  // An event that cannot be asked, or whose command failed, will not become better.
  return result != ur::kSuccess || status <= ur::kEventComplete || status >= ur::kEventFailed;
}

void DeviceWork::record_times(ur::Event event, const DeviceCommand& command) noexcept {
  const auto& functions = runtime_functions();
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  const auto get = [&](std::int32_t property, std::uint64_t& value) {
    return functions.event_get_profiling_info(event, property, sizeof value, &value, nullptr) == ur::kSuccess;
  };
  if (!is_recording() || !get(ur::kProfilingStart, begin) || !get(ur::kProfilingEnd, end) || end < begin) return;
  const auto offset = static_cast<std::uint64_t>(devices_.clock_offset(command.device));
  record({.kind = Kind::device,
          .source = source_,
          .name = command.name,
          .context = command.context,
          .device = devices_.id_of(command.device),
          .begin_ns = begin + offset,
          .end_ns = end + offset,
          .correlation = command.correlation});
}

}  // namespace tutti::profiling
