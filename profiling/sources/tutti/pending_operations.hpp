#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "session/recorder.hpp"

namespace tutti::profiling {

/// Operations that were issued and have not completed, by their number. Of fixed size; no lock, no allocation. An
/// operation is added and taken by whoever issues and completes it; its context may be read by any thread meanwhile.
class PendingOperations {
 public:
  struct Entry {
    NameId name = 0;
    ContextId context = 0;
    CommunicatorId communicator = 0;
    std::uint64_t sequence = 0;
    std::uint64_t begin_ns = 0;
    std::uint64_t bytes = 0;
  };

  /// False if there is no room: thousands of operations are pending.
  [[nodiscard]] bool add(std::uint64_t id, const Entry& entry) noexcept {
    for (Slot* slot : places(id)) {
      std::uint64_t nobody = 0;
      // Acquire: the one who took the slot's last operation has read it.
      if (slot->id.load(std::memory_order_relaxed) != 0 ||
          !slot->id.compare_exchange_strong(nobody, kBeingWritten, std::memory_order_acquire,
                                            std::memory_order_relaxed))
        continue;
      slot->entry = entry;
      slot->context.store(entry.context, std::memory_order_relaxed);
      slot->id.store(id, std::memory_order_release);
      return true;
    }
    return false;
  }

  /// Takes an operation out; false if it is not there.
  [[nodiscard]] bool take(std::uint64_t id, Entry& entry) noexcept {
    Slot* slot = find(id);
    if (slot == nullptr) return false;
    entry = slot->entry;
    slot->id.store(0, std::memory_order_release);
    return true;
  }

  /// The context of a pending operation; 0 if it is not there.
  [[nodiscard]] ContextId context_of(std::uint64_t id) noexcept {
    if (id == 0) return 0;
    Slot* slot = find(id);
    if (slot == nullptr) return 0;
    const ContextId context = slot->context.load(std::memory_order_relaxed);
    // The slot may have passed to another operation between the two loads; then this one has completed.
    std::atomic_thread_fence(std::memory_order_acquire);
    return slot->id.load(std::memory_order_relaxed) == id ? context : 0;
  }

 private:
  static constexpr std::uint64_t kBeingWritten = ~std::uint64_t{0};
  // A program with few pending operations uses the first table only, which stays in the cache.
  static constexpr std::size_t kNear = 64;
  static constexpr std::size_t kFar = 8192;
  static constexpr std::size_t kTries = 6;

  struct alignas(64) Slot {
    std::atomic<std::uint64_t> id = 0;
    std::atomic<ContextId> context = 0;  ///< of the entry once more, for other threads
    Entry entry;
  };

  [[nodiscard]] std::array<Slot*, kTries> places(std::uint64_t id) noexcept {
    std::array<Slot*, kTries> all{};
    all[0] = &near_[id % kNear];
    // Neighbours by number are pending together: the further tries are far apart.
    for (std::size_t i = 1; i < kTries; ++i) all[i] = &far_[(id + (i - 1) * (kFar / (kTries - 1))) % kFar];
    return all;
  }
  [[nodiscard]] Slot* find(std::uint64_t id) noexcept {
    for (Slot* slot : places(id)) {
      // Acquire: pairs with the release that published the entry.
      if (slot->id.load(std::memory_order_acquire) == id) return slot;
    }
    return nullptr;
  }

  std::array<Slot, kNear> near_ = {};
  std::array<Slot, kFar> far_ = {};
};

}  // namespace tutti::profiling
