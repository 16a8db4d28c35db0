#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>

#include "base/mpi/mpi_abi.hpp"

namespace tutti::mpi_table {

/// Values by MPI handle. Lookups take no lock. A full table stays as it is: handles that it lacks are asked for again.
template <std::size_t capacity>
class HandleTable {
 public:
  [[nodiscard]] std::optional<Word> find(Word handle) const noexcept {
    for (std::size_t probe = 0, slot = start(handle); probe < capacity; ++probe, slot = (slot + 1) % capacity) {
      // Acquire: pairs with the release in insert(), so that the value is seen.
      const Word key = slots_[slot].handle.load(std::memory_order_acquire);
      if (key == handle) return slots_[slot].value.load(std::memory_order_relaxed);
      if (key == kFree) break;
    }
    return std::nullopt;
  }

  /// False if the handle is in the table or the table is full.
  bool insert(Word handle, Word value) noexcept {
    if (handle == kFree || handle == kErased) return false;
    const std::lock_guard lock(mutex_);
    Slot* place = nullptr;
    for (std::size_t probe = 0, slot = start(handle); probe < capacity; ++probe, slot = (slot + 1) % capacity) {
      const Word key = slots_[slot].handle.load(std::memory_order_relaxed);
      if (key == handle) return false;
      if (place == nullptr && (key == kFree || key == kErased)) place = &slots_[slot];
      if (key == kFree) break;
    }
    if (place == nullptr) return false;
    place->value.store(value, std::memory_order_relaxed);
    place->handle.store(handle, std::memory_order_release);
    return true;
  }

  /// Forgets a handle before MPI may give it out again. Returns its value.
  std::optional<Word> erase(Word handle) noexcept {
    const std::lock_guard lock(mutex_);
    for (std::size_t probe = 0, slot = start(handle); probe < capacity; ++probe, slot = (slot + 1) % capacity) {
      const Word key = slots_[slot].handle.load(std::memory_order_relaxed);
      if (key == kFree) break;
      if (key != handle) continue;
      // Relaxed: a thread that uses the handle now does so against the rules of MPI.
      slots_[slot].handle.store(kErased, std::memory_order_relaxed);
      return slots_[slot].value.load(std::memory_order_relaxed);
    }
    return std::nullopt;
  }

 private:
  static constexpr Word kFree = 0;
  static constexpr Word kErased = ~Word{0};
  struct Slot {
    std::atomic<Word> handle = kFree;
    std::atomic<Word> value = 0;
  };
  static std::size_t start(Word handle) noexcept {
    return static_cast<std::size_t>((handle * 0x9e3779b97f4a7c15U) >> 32) % capacity;
  }

  std::array<Slot, capacity> slots_;
  std::mutex mutex_;
};

}  // namespace tutti::mpi_table
