#pragma once

#include <atomic>
#include <cstdint>

namespace tutti::profiling {

/// Number that joins a call and the device work that it started. `source` keeps those of several sources apart.
[[nodiscard]] inline std::uint64_t next_correlation(std::uint64_t source) noexcept {
  static constinit std::atomic<std::uint64_t> next = 1;
  return source << 56 | next.fetch_add(1, std::memory_order_relaxed);  // relaxed: only uniqueness matters
}

}  // namespace tutti::profiling
