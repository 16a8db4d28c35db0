#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "mpi/mpi_library.hpp"

namespace tutti::profiling::mpi {

/// Values by request, from the call that returns the request to the one that completes it. Several operations may share
/// a request: MPI libraries return the same handle for all operations that are complete at once. They leave in the
/// order in which they came. Thread-safe.
template <typename Value>
class RequestTable {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 16;  ///< further operations are refused

  /// Whether anything is in the table. One load: asked at calls that complete nothing.
  [[nodiscard]] bool is_empty() const noexcept { return size_.load(std::memory_order_relaxed) == 0; }

  /// False if there is no room.
  [[nodiscard]] bool add(Word request, const Value& value) noexcept {
    const std::lock_guard lock(mutex_);
    try {
      if (size_.load(std::memory_order_relaxed) == kMost) return false;
      if (slots_.size() < 2 * (keys_ + 1)) grow();
      const std::uint32_t node = new_node(value);
      Slot& slot = slots_[place_of(request)];
      if (slot.first == kNone) {
        slot = {request, node, node};
        ++keys_;
      } else {
        nodes_[slot.last].next = node;
        slot.last = node;
      }
    } catch (...) {
      return false;
    }
    size_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  /// Takes out the oldest value of a request.
  [[nodiscard]] std::optional<Value> take(Word request) noexcept {
    const std::lock_guard lock(mutex_);
    if (slots_.empty()) return std::nullopt;
    const std::size_t place = place_of(request);
    Slot& slot = slots_[place];
    if (slot.first == kNone) return std::nullopt;
    return take_first(place);
  }

  /// Takes out any value; nothing if the table is empty.
  [[nodiscard]] std::optional<Value> take_any() noexcept {
    const std::lock_guard lock(mutex_);
    for (std::size_t place = 0; place < slots_.size(); ++place)
      if (slots_[place].first != kNone) return take_first(place);
    return std::nullopt;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Node {
    Value value;
    std::uint32_t next = kNone;
  };
  struct Slot {
    Word request = 0;
    std::uint32_t first = kNone;  ///< kNone: the slot is free
    std::uint32_t last = kNone;
  };

  [[nodiscard]] std::size_t start_of(Word request) const noexcept {
    return static_cast<std::size_t>((request * 0x9e3779b97f4a7c15U) >> 32) & (slots_.size() - 1);
  }
  /// The slot of a request, or the free one where it belongs.
  [[nodiscard]] std::size_t place_of(Word request) const noexcept {
    std::size_t place = start_of(request);
    while (slots_[place].first != kNone && slots_[place].request != request) place = (place + 1) & (slots_.size() - 1);
    return place;
  }

  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.first != kNone) slots_[place_of(slot.request)] = slot;
  }

  [[nodiscard]] std::uint32_t new_node(const Value& value) {
    if (free_ == kNone) {
      nodes_.push_back({value, kNone});
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    const std::uint32_t node = free_;
    free_ = nodes_[node].next;
    nodes_[node] = {value, kNone};
    return node;
  }

  [[nodiscard]] Value take_first(std::size_t place) noexcept {
    Slot& slot = slots_[place];
    const std::uint32_t node = slot.first;
    slot.first = nodes_[node].next;
    nodes_[node].next = free_;
    free_ = node;
    size_.fetch_sub(1, std::memory_order_relaxed);
    if (slot.first == kNone) remove(place);
    return nodes_[node].value;
  }

  /// Frees a slot and moves those up that were put behind it.
  void remove(std::size_t place) noexcept {
    --keys_;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t next = (place + 1) & mask; slots_[next].first != kNone; next = (next + 1) & mask) {
      const std::size_t start = start_of(slots_[next].request);
      if (((next - start) & mask) < ((next - place) & mask)) continue;
      slots_[place] = slots_[next];
      place = next;
    }
    slots_[place] = {};
  }

  std::mutex mutex_;
  std::atomic<std::size_t> size_{0};
  std::size_t keys_ = 0;
  std::vector<Slot> slots_;  ///< a power of two of them
  std::vector<Node> nodes_;
  std::uint32_t free_ = kNone;
};

}  // namespace tutti::profiling::mpi
