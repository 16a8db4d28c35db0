#include "device_work.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "runtime_functions.hpp"

namespace tutti::profiling {

void DeviceWork::add(const DeviceCommand& command) noexcept {
  bool is_full = false;
  bool is_taken = false;
  try {
    const std::scoped_lock lock(mutex_);
    if (!is_finished_ && pending_.size() < kMaxPending) {
      pending_.push_back(command);
      is_taken = true;
      is_full = pending_.size() >= next_collection_;
    }
  } catch (const std::bad_alloc&) {
    is_taken = false;
  }
  if (!is_taken) {
    const OwnCall own;
    runtime_functions().event_release(command.event);
  }
  // A program that never waits, or waits in other ways than the source knows.
  if (is_full) collect();
}

void DeviceWork::collect() noexcept {
  std::vector<DeviceCommand> commands;
  {
    const std::scoped_lock lock(mutex_);
    commands.swap(pending_);
  }
  if (commands.empty()) return;
  const OwnCall own;
  const auto is_left = [&](const DeviceCommand& command) {
    if (!is_complete(command)) return true;
    record_times(command);
    runtime_functions().event_release(command.event);
    return false;
  };
  commands.erase(std::stable_partition(commands.begin(), commands.end(), is_left), commands.end());
  const std::scoped_lock lock(mutex_);
  try {
    pending_.insert(pending_.end(), commands.begin(), commands.end());
  } catch (const std::bad_alloc&) {
    // Their references are never given back; the runtime's own clean-up at the end takes them.
  }
  next_collection_ = pending_.size() + kCollectionStep;
}

void DeviceWork::finish() noexcept {
  collect();
  std::vector<DeviceCommand> commands;
  {
    const std::scoped_lock lock(mutex_);
    commands.swap(pending_);
    is_finished_ = true;
  }
  const OwnCall own;
  for (const DeviceCommand& command : commands) runtime_functions().event_release(command.event);
}

bool DeviceWork::is_complete(const DeviceCommand& command) const noexcept {
  std::int32_t status = -1;
  const ur::Result result =
      runtime_functions().event_get_info(command.event, ur::kEventExecutionStatus, sizeof status, &status, nullptr);
  // An event that cannot be asked, or whose command failed, will not become better.
  return result != ur::kSuccess || status <= ur::kEventComplete || status >= ur::kEventFailed;
}

void DeviceWork::record_times(const DeviceCommand& command) noexcept {
  const auto& functions = runtime_functions();
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  const auto get = [&](std::int32_t property, std::uint64_t& value) {
    return functions.event_get_profiling_info(command.event, property, sizeof value, &value, nullptr) == ur::kSuccess;
  };
  if (!get(ur::kProfilingStart, begin) || !get(ur::kProfilingEnd, end) || end < begin || !is_recording()) return;
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
