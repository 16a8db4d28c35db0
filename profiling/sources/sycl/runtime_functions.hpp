#pragma once

#include "unified_runtime_api.hpp"

namespace tutti::profiling {

/// Functions of the Unified Runtime that the source calls itself, of the runtime that the program has loaded; null
/// where they cannot be found. The source does not record its own calls.
struct RuntimeFunctions {
  ur::GetInfo device_get_info = nullptr;
  ur::GetInfo event_get_info = nullptr;
  ur::GetInfo event_get_profiling_info = nullptr;
  ur::DeviceGetGlobalTimestamps device_get_global_timestamps = nullptr;
  ur::EventReference event_retain = nullptr;
  ur::EventReference event_release = nullptr;

  /// Whether the times of commands can be had.
  [[nodiscard]] bool tell_times() const noexcept;
};

/// Looks the functions up at the first call, which must come from a call of the runtime.
[[nodiscard]] const RuntimeFunctions& runtime_functions() noexcept;

/// Exists while this thread is in a call of the source's own.
class OwnCall {
 public:
  OwnCall() noexcept { ++depth; }
  ~OwnCall() { --depth; }
  OwnCall(const OwnCall&) = delete;
  OwnCall& operator=(const OwnCall&) = delete;
  [[nodiscard]] static bool is_active() noexcept { return depth > 0; }

 private:
  static inline constinit thread_local int depth = 0;
};

}  // namespace tutti::profiling
