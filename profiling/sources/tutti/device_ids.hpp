#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "session/recorder.hpp"
#include "tutti/device.hpp"

namespace tutti::profiling {

/// The recorder's numbers of tutti's devices. A lookup of a known device takes no lock.
class DeviceIds {
 public:
  /// 0 for the host.
  [[nodiscard]] DeviceId of(Device device) noexcept;

  /// Whether a source below reports all work of the device, that of tutti included.
  [[nodiscard]] bool is_reported_below(Device device) noexcept;

 private:
  static constexpr std::size_t kSlots = 512;
  struct Slot {
    std::atomic<std::uint64_t> key = 0;
    DeviceId id = 0;
  };
  [[nodiscard]] DeviceId add(std::uint64_t key, Device device) noexcept;

  enum class Below : std::uint8_t { unknown, no, yes };
  std::array<Slot, kSlots> slots_ = {};
  std::array<std::atomic<Below>, 64> below_ = {};  ///< by module
  std::mutex mutex_;                               ///< of additions
};

/// True while this thread asks a device runtime for the facts about a device: those calls are not the program's.
[[nodiscard]] bool is_asking_devices() noexcept;

}  // namespace tutti::profiling
