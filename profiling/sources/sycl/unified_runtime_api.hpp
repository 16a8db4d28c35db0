#pragma once

#include <cstddef>
#include <cstdint>

/// The part of the Unified Runtime that the source calls and reads. Declared here, because packages of SYCL do not have
/// to contain its headers; the values have been the same since version 0.10.
namespace tutti::profiling::ur {

using Result = std::int32_t;
inline constexpr Result kSuccess = 0;

struct DeviceObject;
struct QueueObject;
struct EventObject;
struct KernelObject;
using Device = DeviceObject*;
using Queue = QueueObject*;
using Event = EventObject*;
using Kernel = KernelObject*;

inline constexpr std::int32_t kDeviceMemorySize = 46;
inline constexpr std::int32_t kDeviceMemoryFree = 47;
inline constexpr std::int32_t kDeviceName = 66;
inline constexpr std::int32_t kDeviceParent = 75;
inline constexpr std::int32_t kDeviceUuid = 88;

inline constexpr std::int32_t kEventExecutionStatus = 3;
inline constexpr std::int32_t kEventComplete = 0;
inline constexpr std::int32_t kEventFailed = 4;

inline constexpr std::int32_t kProfilingStart = 2;
inline constexpr std::int32_t kProfilingEnd = 3;

inline constexpr std::int32_t kQueuePropertiesType = 14;
inline constexpr std::uint32_t kQueueProfilingFlag = 1U << 1U;
struct QueueProperties {
  std::int32_t type;
  void* next;
  std::uint32_t flags;
};

using GetInfo = Result (*)(void* object, std::int32_t property, std::size_t size, void* value,
                           std::size_t* size_needed);
using DeviceGetGlobalTimestamps = Result (*)(Device, std::uint64_t* device_time, std::uint64_t* host_time);
using EventReference = Result (*)(Event);

}  // namespace tutti::profiling::ur
