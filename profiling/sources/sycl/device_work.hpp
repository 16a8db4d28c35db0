#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "runtime_devices.hpp"
#include "session/recorder.hpp"
#include "unified_runtime_api.hpp"

namespace tutti::profiling {

/// A command whose times its event will tell when it is complete.
struct DeviceCommand {
  ur::Device device = nullptr;
  NameId name = 0;
  ContextId context = 0;
  std::uint64_t correlation = 0;
};

/// Commands whose events can tell their times, until those were recorded. An event that the program gives up before
/// its command is complete is kept alive until then. Thread-safe.
class DeviceWork {
 public:
  DeviceWork(RuntimeDevices& devices, SourceId source) noexcept : devices_(devices), source_(source) {}

  /// `is_ours`: the source made the event for itself and has its only reference.
  void expect(ur::Event event, const DeviceCommand& command, bool is_ours) noexcept;
  /// Records the times of these events, whose commands are complete.
  void complete(const ur::Event* events, std::uint32_t count) noexcept;
  /// Before the program gives up a reference, perhaps the last.
  void release(ur::Event event) noexcept;
  /// Records the times of all commands that are complete. Does not wait for others.
  void collect() noexcept;
  /// The same for the last time: forgets commands that are not complete.
  void finish() noexcept;

 private:
  struct Entry {
    DeviceCommand command;
    bool has_reference = false;
  };
  [[nodiscard]] static bool is_complete(ur::Event event) noexcept;
  void record_times(ur::Event event, const DeviceCommand& command) noexcept;
  /// Records the times if the command is complete. Call with the lock held.
  [[nodiscard]] bool is_done(ur::Event event, const Entry& entry) noexcept;
  void collect_locked() noexcept;

  RuntimeDevices& devices_;
  const SourceId source_;
  /// Held while the runtime is asked for times, so that nobody gives the event up meanwhile. The functions that are
  /// called then call nothing back.
  std::mutex mutex_;
  std::unordered_map<ur::Event, Entry> pending_;
  std::size_t next_collection_ = kCollectionStep;
  bool is_finished_ = false;

  static constexpr std::size_t kCollectionStep = 256;
  static constexpr std::size_t kMaxPending = 16384;
};

}  // namespace tutti::profiling
