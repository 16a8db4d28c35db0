#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tutti/observer.hpp"

namespace tutti::profiling {

/// Ranges that were begun and not ended, by operation, without a lock or an allocation. An operation whose place is
/// taken by one that was issued kPlaces operations before and still runs gets no range.
template <typename Range>
class OpenRanges {
 public:
  /// Begins the range of an operation with `begin()` unless there is no place for it.
  template <typename Begin>
  void begin(OperationId operation, Begin begin) noexcept {
    Place& place = places_[operation % kPlaces];
    OperationId expected = kFree;
    // Acquire: the range of the place's former operation was read before.
    if (!place.operation.compare_exchange_strong(expected, kClaimed, std::memory_order_acquire)) return;
    place.range = begin();
    // Release: the thread that ends the operation reads the range.
    place.operation.store(operation, std::memory_order_release);
  }

  /// Takes the range of an operation out, if it has one.
  [[nodiscard]] std::optional<Range> end(OperationId operation) noexcept {
    Place& place = places_[operation % kPlaces];
    if (place.operation.load(std::memory_order_acquire) != operation) return std::nullopt;
    const Range range = place.range;
    place.operation.store(kFree, std::memory_order_release);
    return range;
  }

 private:
  static constexpr std::size_t kPlaces = 4096;
  static constexpr OperationId kFree = 0;
  static constexpr OperationId kClaimed = UINT64_MAX;

  struct Place {
    std::atomic<OperationId> operation = kFree;
    Range range = {};
  };
  std::array<Place, kPlaces> places_;
};

}  // namespace tutti::profiling
