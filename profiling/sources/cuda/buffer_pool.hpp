#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

namespace tutti::profiling::cuda {

/// Buffers for CUPTI's activity records. A buffer that came back is used again.
class BufferPool {
 public:
  static constexpr std::size_t kBytes = std::size_t{1} << 20U;

  /// Null if there is no memory; CUPTI then drops records and counts them.
  [[nodiscard]] std::uint8_t* take() noexcept {
    {
      const std::scoped_lock lock(mutex_);
      if (!free_.empty()) {
        std::uint8_t* buffer = free_.back();
        free_.pop_back();
        return buffer;
      }
    }
    return static_cast<std::uint8_t*>(std::aligned_alloc(64, kBytes));
  }
  void give_back(std::uint8_t* buffer) noexcept {
    try {
      const std::scoped_lock lock(mutex_);
      free_.push_back(buffer);
    } catch (const std::bad_alloc&) {
      std::free(buffer);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::uint8_t*> free_;
};

}  // namespace tutti::profiling::cuda
