#pragma once

#include <level_zero/ze_api.h>

#include <mutex>
#include <unordered_map>

#include "devices.hpp"
#include "loader.hpp"
#include "own_events.hpp"
#include "session/recorder.hpp"

namespace tutti::profiling::ze {

/// Owner of the event that a command signals.
enum class EventOwner : std::uint8_t {
  program,
  source_once,    ///< lent to a command that is carried out once
  source_listed,  ///< lent to a command for as long as its list has it
};

/// A command that will signal an event with timestamps.
struct DeviceCommand {
  ze_device_handle_t device = nullptr;
  NameId name = 0;
  ContextId context = 0;
  std::uint64_t correlation = 0;
  EventOwner owner = EventOwner::program;
  ze_command_queue_handle_t queue = nullptr;  ///< of a command of a list
};

/// Commands whose events have timestamps, until those were recorded. Thread-safe.
class EventTimes {
 public:
  EventTimes(const Loader& loader, const Devices& devices, OwnEvents& own_events, SourceId source) noexcept
      : loader_(loader), devices_(devices), own_events_(own_events), source_(source) {}

  /// The next signal of the event is the end of the command.
  void expect(ze_event_handle_t event, const DeviceCommand& command) noexcept;
  /// Records the times of the event's command if it is complete.
  void collect(ze_event_handle_t event) noexcept;
  /// The same for all events.
  void collect_all() noexcept;
  /// The same after all commands of this queue have ended.
  void collect_queue(ze_command_queue_handle_t queue) noexcept;
  /// Forgets the event, which is about to be reset, destroyed or taken from its list.
  void forget(ze_event_handle_t event) noexcept;

 private:
  struct Entry {
    DeviceCommand command;
    /// A command of a list that is executed again before the source has seen it end: the event tells the times of the
    /// last execution, once all have ended.
    bool is_repeated = false;
  };
  /// Records the times if the command has ended, and makes an event of the source ready for others.
  [[nodiscard]] bool is_done(ze_event_handle_t event, const Entry& entry) noexcept;
  /// False: not complete yet.
  [[nodiscard]] bool record_times(ze_event_handle_t event, const DeviceCommand& command) const noexcept;

  const Loader& loader_;
  const Devices& devices_;
  OwnEvents& own_events_;
  const SourceId source_;
  /// Held while the driver is asked for timestamps, so that nobody destroys the event meanwhile.
  std::mutex mutex_;
  std::unordered_map<ze_event_handle_t, Entry> commands_;
};

}  // namespace tutti::profiling::ze
