#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

#include "session/recorder.hpp"

namespace tutti::profiling {

/// The recorder's numbers of communicators by tutti's numbers, which count up from 1. Lookups take no lock.
class CommunicatorIds {
 public:
  void set(std::uint64_t number, CommunicatorId id) noexcept {
    if (number / kChunk >= kChunks) return;
    std::atomic<Chunk*>& place = chunks_[number / kChunk];
    Chunk* chunk = place.load(std::memory_order_acquire);
    if (chunk == nullptr) {
      auto* added = new (std::nothrow) Chunk();
      if (added == nullptr) return;
      // Another thread may have added one meanwhile.
      if (place.compare_exchange_strong(chunk, added, std::memory_order_acq_rel)) {
        chunk = added;
      } else {
        delete added;
      }
    }
    // Relaxed: a communicator reaches another thread by ways that order this as well.
    (*chunk)[number % kChunk].store(id, std::memory_order_relaxed);
  }

  /// 0 if it is not known.
  [[nodiscard]] CommunicatorId of(std::uint64_t number) const noexcept {
    if (number / kChunk >= kChunks) return 0;
    const Chunk* chunk = chunks_[number / kChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? 0 : (*chunk)[number % kChunk].load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::size_t kChunk = 512;
  static constexpr std::size_t kChunks = 2048;
  using Chunk = std::array<std::atomic<CommunicatorId>, kChunk>;
  std::array<std::atomic<Chunk*>, kChunks> chunks_ = {};
};

}  // namespace tutti::profiling
