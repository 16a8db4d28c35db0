#pragma once

#include <cupti.h>

#include <array>
#include <atomic>

#include "cupti_library.hpp"
#include "device_memory.hpp"
#include "session/recorder.hpp"
#include "sources/common/traffic_names.hpp"

namespace tutti::profiling::cuda {

/// Joins a call and the work that it started. CUPTI numbers the calls.
[[nodiscard]] inline std::uint64_t correlation_of(SourceId source, std::uint32_t number) noexcept {
  return number == 0 ? 0 : std::uint64_t{source} << 56U | number;
}

/// Makes records of CUPTI's activity records: device times, traffic and memory. Called by one thread at a time.
class ActivityReader {
 public:
  ActivityReader(const CuptiLibrary& cupti, SourceId source) noexcept
      : cupti_(cupti), source_(source), memory_(source) {}

  void read(std::uint8_t* buffer, std::size_t bytes) noexcept;
  /// Records how the memory in use on the devices has changed.
  void sample_memory() noexcept { memory_.sample(); }

 private:
  void read_record(const CUpti_Activity& activity) noexcept;
  void read_device(const CUpti_ActivityDevice5& device) noexcept;
  void read_kernel(const CUpti_ActivityKernel10& kernel) noexcept;
  void read_copy(const CUpti_ActivityMemcpy6& copy) noexcept;
  void read_peer_copy(const CUpti_ActivityMemcpyPtoP4& copy) noexcept;
  void read_fill(const CUpti_ActivityMemset4& fill) noexcept;
  void read_memory(const CUpti_ActivityMemory4& memory) noexcept;
  void record_work(NameId name, std::uint32_t device, std::uint64_t begin, std::uint64_t end,
                   std::uint64_t correlation) noexcept;
  void record_traffic(NameId name, std::uint64_t bytes, std::uint64_t time, std::uint64_t correlation) noexcept;
  [[nodiscard]] DeviceId device_id(std::uint32_t number) noexcept;

  static constexpr std::size_t kDevices = 64;

  const CuptiLibrary& cupti_;
  const SourceId source_;
  std::array<DeviceId, kDevices> devices_{};
  DeviceMemory memory_;
  TrafficNames copies_;
  TrafficNames fills_;
};

}  // namespace tutti::profiling::cuda
