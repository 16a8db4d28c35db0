#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>

#include "session/recorder.hpp"

namespace tutti::profiling {

/// Where memory is, as a letter in the names of copies: "zeCommandListAppendMemoryCopy(H2D)". Memory that no call of
/// the device's runtime returned is unknown to it, such as ordinary memory of the host.
enum class MemoryPlace : std::uint8_t { unknown, host, device, shared };
inline constexpr std::size_t kMemoryPlaceCount = 4;
inline constexpr char kMemoryPlaceLetters[] = "MHDS";

/// Memory that a program got from a device's runtime.
struct MemoryBlock {
  std::size_t bytes = 0;
  DeviceId device = 0;
  MemoryPlace place = MemoryPlace::unknown;
};

/// The memory that a program holds, by address: for the sizes of frees and the directions of copies. Thread-safe.
class MemoryRanges {
 public:
  /// Left out if there is no memory for the entry.
  void add(const void* address, const MemoryBlock& block) noexcept {
    try {
      const std::unique_lock lock(mutex_);
      blocks_[reinterpret_cast<std::uintptr_t>(address)] = block;
    } catch (const std::bad_alloc&) {
      return;
    }
  }

  /// Forgets the block that begins at the address.
  std::optional<MemoryBlock> remove(const void* address) noexcept {
    const std::unique_lock lock(mutex_);
    const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(address));
    if (found == blocks_.end()) return std::nullopt;
    const MemoryBlock block = found->second;
    blocks_.erase(found);
    return block;
  }

  [[nodiscard]] MemoryPlace place_of(const void* address) const noexcept {
    const auto value = reinterpret_cast<std::uintptr_t>(address);
    const std::shared_lock lock(mutex_);
    auto next = blocks_.upper_bound(value);
    if (next == blocks_.begin()) return MemoryPlace::unknown;
    --next;
    return value - next->first < next->second.bytes ? next->second.place : MemoryPlace::unknown;
  }

 private:
  mutable std::shared_mutex mutex_;
  std::map<std::uintptr_t, MemoryBlock> blocks_;
};

}  // namespace tutti::profiling
