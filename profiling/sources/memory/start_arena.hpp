#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tutti::profiling::memory {

/// Memory for the few allocations that the search for the real functions makes itself. Nothing is given back.
class StartArena {
 public:
  /// A block of zeros, or null when all is used up.
  [[nodiscard]] void* allocate(std::size_t bytes) noexcept {
    if (bytes > kBytes) return nullptr;
    const std::size_t needed = (bytes + kHeader + 15) / 16 * 16;
    const std::size_t begin = used_.fetch_add(needed, std::memory_order_relaxed);
    if (begin > kBytes - needed) return nullptr;
    std::byte* block = memory_.data() + begin;
    std::memcpy(block, &bytes, sizeof bytes);
    return block + kHeader;
  }
  [[nodiscard]] bool owns(const void* block) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(block);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data());
    return address >= begin && address < begin + kBytes;
  }
  [[nodiscard]] static std::size_t size_of(const void* block) noexcept {
    std::size_t bytes = 0;
    std::memcpy(&bytes, static_cast<const std::byte*>(block) - kHeader, sizeof bytes);
    return bytes;
  }

 private:
  static constexpr std::size_t kBytes = 64 << 10;
  static constexpr std::size_t kHeader = 16;
  alignas(16) std::array<std::byte, kBytes> memory_ = {};
  std::atomic<std::size_t> used_{0};
};

}  // namespace tutti::profiling::memory
