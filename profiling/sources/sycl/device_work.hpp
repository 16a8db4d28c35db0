#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime_devices.hpp"
#include "session/recorder.hpp"
#include "unified_runtime_api.hpp"

namespace tutti::profiling {

/// A command whose times the device will tell when it is complete.
struct DeviceCommand {
  ur::Event event = nullptr;
  ur::Device device = nullptr;
  NameId name = 0;
  ContextId context = 0;
  std::uint64_t correlation = 0;
};

/// Commands whose events can tell their times. Each keeps a reference to its event until its times were recorded.
/// Thread-safe.
class DeviceWork {
 public:
  DeviceWork(RuntimeDevices& devices, SourceId source) noexcept : devices_(devices), source_(source) {}

  /// Takes over a reference of the event.
  void add(const DeviceCommand& command) noexcept;
  /// Records the times of commands that are complete. Does not wait for others.
  void collect() noexcept;
  /// The same for the last time: forgets commands that are not complete.
  void finish() noexcept;

 private:
  [[nodiscard]] bool is_complete(const DeviceCommand& command) const noexcept;
  void record_times(const DeviceCommand& command) noexcept;

  RuntimeDevices& devices_;
  const SourceId source_;
  std::mutex mutex_;  ///< never held during a call of the runtime
  std::vector<DeviceCommand> pending_;
  std::size_t next_collection_ = kCollectionStep;
  bool is_finished_ = false;

  static constexpr std::size_t kCollectionStep = 64;
  static constexpr std::size_t kMaxPending = 16384;
};

}  // namespace tutti::profiling
