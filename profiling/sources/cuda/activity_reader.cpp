#include "activity_reader.hpp"

#include <cstdio>
#include <cstring>

#include "sources/common/device_identity.hpp"
#include "sources/common/kernel_name.hpp"

namespace tutti::profiling::cuda {

namespace {

/// Of CUpti_ActivityMemoryKind.
MemoryPlace place_of(std::uint32_t kind) noexcept {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return MemoryPlace::host;
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return MemoryPlace::device;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return MemoryPlace::shared;
    default:
      return MemoryPlace::unknown;
  }
}

template <typename Record>
const Record& as(const CUpti_Activity& activity) noexcept {
  return reinterpret_cast<const Record&>(activity);
}

}  // namespace

void ActivityReader::read(std::uint8_t* buffer, std::size_t bytes) noexcept {
  CUpti_Activity* activity = nullptr;
  while (cupti_.get_next_record(buffer, bytes, &activity) == CUPTI_SUCCESS) {
    if (activity->kind == CUPTI_ACTIVITY_KIND_DEVICE)
      read_device(as<CUpti_ActivityDevice5>(*activity));
    else if (is_recording())
      read_record(*activity);
  }
}

void ActivityReader::read_record(const CUpti_Activity& activity) noexcept {
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      return read_kernel(as<CUpti_ActivityKernel10>(activity));
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return read_copy(as<CUpti_ActivityMemcpy6>(activity));
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return read_peer_copy(as<CUpti_ActivityMemcpyPtoP4>(activity));
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return read_fill(as<CUpti_ActivityMemset4>(activity));
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return read_memory(as<CUpti_ActivityMemory4>(activity));
    default:
      return;
  }
}

void ActivityReader::read_device(const CUpti_ActivityDevice5& device) noexcept {
  if (device.id >= kDevices) return;
  unsigned char uuid[16];
  static_assert(sizeof device.uuid.bytes == sizeof uuid);
  std::memcpy(uuid, device.uuid.bytes, sizeof uuid);
  const bool is_new = devices_[device.id] == 0;
  devices_[device.id] =
      add_device({.name = device.name == nullptr ? "" : device.name, .device = device_identity(uuid)});
  if (is_new) memory_.add(devices_[device.id], uuid);
}

/// CUPTI describes devices before their work; a device without description is known by its number.
DeviceId ActivityReader::device_id(std::uint32_t number) noexcept {
  if (number < kDevices && devices_[number] != 0) return devices_[number];
  char name[32];
  std::snprintf(name, sizeof name, "CUDA device %u", number);
  const DeviceId id = add_device({.name = name, .device = std::uint64_t{number} + 1});
  if (number < kDevices) devices_[number] = id;
  return id;
}

void ActivityReader::record_work(NameId name, std::uint32_t device, std::uint64_t begin, std::uint64_t end,
                                 std::uint64_t correlation) noexcept {
  if (begin == 0 || end < begin) return;  // CUPTI's way to say that it does not know
  record({.kind = Kind::device,
          .source = source_,
          .name = name,
          .device = device_id(device),
          .begin_ns = begin,
          .end_ns = end,
          .correlation = correlation});
}

void ActivityReader::record_traffic(NameId name, std::uint64_t bytes, std::uint64_t time,
                                    std::uint64_t correlation) noexcept {
  record({.kind = Kind::traffic,
          .source = source_,
          .name = name,
          .begin_ns = time,
          .end_ns = time,
          .bytes = bytes,
          .correlation = correlation});
}

void ActivityReader::read_kernel(const CUpti_ActivityKernel10& kernel) noexcept {
  record_work(kernel_name(kernel.name), kernel.deviceId, kernel.start, kernel.end,
              correlation_of(source_, kernel.correlationId));
}

void ActivityReader::read_copy(const CUpti_ActivityMemcpy6& copy) noexcept {
  const NameId name = copies_.copy("cudaMemcpy", place_of(copy.srcKind), place_of(copy.dstKind));
  const std::uint64_t correlation = correlation_of(source_, copy.correlationId);
  record_traffic(name, copy.bytes, copy.start, correlation);
  record_work(name, copy.deviceId, copy.start, copy.end, correlation);
}

void ActivityReader::read_peer_copy(const CUpti_ActivityMemcpyPtoP4& copy) noexcept {
  const NameId name = copies_.copy("cudaMemcpy", place_of(copy.srcKind), place_of(copy.dstKind));
  const std::uint64_t correlation = correlation_of(source_, copy.correlationId);
  record_traffic(name, copy.bytes, copy.start, correlation);
  record_work(name, copy.deviceId, copy.start, copy.end, correlation);
}

void ActivityReader::read_fill(const CUpti_ActivityMemset4& fill) noexcept {
  const NameId name = fills_.touch("cudaMemset", place_of(fill.memoryKind));
  const std::uint64_t correlation = correlation_of(source_, fill.correlationId);
  record_traffic(name, fill.bytes, fill.start, correlation);
  record_work(name, fill.deviceId, fill.start, fill.end, correlation);
}

void ActivityReader::read_memory(const CUpti_ActivityMemory4& memory) noexcept {
  const bool is_release = memory.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  if (!is_release && memory.memoryOperationType != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION) return;
  const MemoryPlace place = place_of(static_cast<std::uint32_t>(memory.memoryKind));
  const bool is_on_host = place == MemoryPlace::host || place == MemoryPlace::unknown;
  record({.kind = is_release ? Kind::release : Kind::allocation,
          .source = source_,
          .name = memory_name(place),
          .device = is_on_host ? DeviceId{0} : device_id(memory.deviceId),
          .begin_ns = memory.timestamp,
          .end_ns = memory.timestamp,
          .bytes = memory.bytes,
          .correlation = correlation_of(source_, memory.correlationId)});
}

}  // namespace tutti::profiling::cuda
