#pragma once

#include <atomic>
#include <cstdint>

#include "session/owner_names.hpp"
#include "session/recorder.hpp"

namespace tutti::profiling {

/// Memory in use on a device, whoever allocated it, as its vendor's software tells it. Changes since the first look are
/// recorded as memory of an owner of its own. Used by one thread at a time.
class UsedMemory {
 public:
  UsedMemory() = default;
  UsedMemory(DeviceId device, std::uint64_t used) noexcept : device_(device), used_(used) {}

  /// Records the change since the last time.
  void change_to(SourceId source, std::uint64_t used) noexcept {
    if (used == used_) return;
    const bool grows = used > used_;
    const std::uint64_t now = now_ns();
    record({.kind = grows ? Kind::allocation : Kind::release,
            .source = source,
            .name = intern(kUsedOnDevice),
            .device = device_,
            .begin_ns = now,
            .end_ns = now,
            .bytes = grows ? used - used_ : used_ - used});
    used_ = used;
  }

 private:
  DeviceId device_ = 0;
  std::uint64_t used_ = 0;
};

/// Times at which memory in use is asked for, since asking costs some microseconds: twice a second. Thread-safe.
class SampleTimes {
 public:
  /// True for one caller of those that come when a sample is due. `now_ns`: a time that the caller has anyway.
  [[nodiscard]] bool is_due(std::uint64_t now_ns) noexcept {
    std::uint64_t next = next_.load(std::memory_order_relaxed);
    return now_ns >= next && next_.compare_exchange_strong(next, now_ns + kPeriodNs, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t kPeriodNs = 500'000'000;
  std::atomic<std::uint64_t> next_ = 0;
};

}  // namespace tutti::profiling
