#pragma once

#include <level_zero/ze_api.h>

#include <mutex>
#include <unordered_map>

#include "devices.hpp"
#include "loader.hpp"
#include "session/recorder.hpp"

namespace tutti::profiling::ze {

/// A command that will signal an event with timestamps.
struct DeviceCommand {
  ze_device_handle_t device = nullptr;
  NameId name = 0;
  ContextId context = 0;
  std::uint64_t correlation = 0;
};

/// Commands whose events have timestamps, until those were recorded. Thread-safe.
class EventTimes {
 public:
  EventTimes(const Loader& loader, const Devices& devices, SourceId source) noexcept
      : loader_(loader), devices_(devices), source_(source) {}

  /// The next signal of the event is the end of the command.
  void expect(ze_event_handle_t event, const DeviceCommand& command) noexcept;
  /// Records the times of the event's command if it is complete.
  void collect(ze_event_handle_t event) noexcept;
  /// The same for all events.
  void collect_all() noexcept;
  /// Forgets the event, which is about to be reset or destroyed.
  void forget(ze_event_handle_t event) noexcept;

 private:
  /// False: not complete yet.
  [[nodiscard]] bool record_times(ze_event_handle_t event, const DeviceCommand& command) const noexcept;

  const Loader& loader_;
  const Devices& devices_;
  const SourceId source_;
  /// Held while the driver is asked for timestamps, so that nobody destroys the event meanwhile.
  std::mutex mutex_;
  std::unordered_map<ze_event_handle_t, DeviceCommand> commands_;
};

}  // namespace tutti::profiling::ze
