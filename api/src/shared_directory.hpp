#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tutti/spi/shared_memory.hpp"

namespace tutti {

/// Allocations sorted by address. One writer at a time. Readers take no lock: they retry if `version_` is odd (a write
/// is in progress) or has changed.
class SharedDirectory {
 public:
  // Returns false if the table is full.
  bool insert(std::uintptr_t begin, std::uint64_t bytes, std::uint64_t offset) noexcept {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    if (count == rows_.size()) return false;
    version_.fetch_add(1, std::memory_order_acq_rel);
    std::size_t at = count;
    for (; at > 0 && rows_[at - 1].begin.load(std::memory_order_relaxed) > begin; --at) rows_[at].take(rows_[at - 1]);
    rows_[at].set(begin, bytes, offset);
    count_.store(count + 1, std::memory_order_release);
    version_.fetch_add(1, std::memory_order_release);
    return true;
  }
  void erase(std::uintptr_t begin) noexcept {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    std::size_t at = 0;
    while (at < count && rows_[at].begin.load(std::memory_order_relaxed) != begin) ++at;
    if (at == count) return;
    version_.fetch_add(1, std::memory_order_acq_rel);
    for (; at + 1 < count; ++at) rows_[at].take(rows_[at + 1]);
    count_.store(count - 1, std::memory_order_release);
    version_.fetch_add(1, std::memory_order_release);
  }
  void clear() noexcept {
    version_.fetch_add(1, std::memory_order_acq_rel);
    count_.store(0, std::memory_order_release);
    version_.fetch_add(1, std::memory_order_release);
  }
  [[nodiscard]] std::uint64_t offset_of(std::uintptr_t data, std::uint64_t bytes) const noexcept {
    while (true) {
      const std::uint64_t version = version_.load(std::memory_order_acquire);
      const std::uint64_t offset = version % 2 == 0 ? search(data, bytes) : spi::kNotShared;
      if (version % 2 == 0 && version_.load(std::memory_order_acquire) == version) return offset;
    }
  }

 private:
  struct Row {
    std::atomic<std::uintptr_t> begin;
    std::atomic<std::uint64_t> bytes;
    std::atomic<std::uint64_t> offset;

    void set(std::uintptr_t new_begin, std::uint64_t new_bytes, std::uint64_t new_offset) noexcept {
      begin.store(new_begin, std::memory_order_release);
      bytes.store(new_bytes, std::memory_order_release);
      offset.store(new_offset, std::memory_order_release);
    }
    void take(const Row& other) noexcept {
      set(other.begin.load(std::memory_order_relaxed), other.bytes.load(std::memory_order_relaxed),
          other.offset.load(std::memory_order_relaxed));
    }
  };

  // Uses the last row that begins at or before `data`. Acquire loads, so that the version is read again after the rows.
  [[nodiscard]] std::uint64_t search(std::uintptr_t data, std::uint64_t bytes) const noexcept {
    std::size_t low = 0;
    std::size_t high = std::min(count_.load(std::memory_order_acquire), rows_.size());
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (rows_[middle].begin.load(std::memory_order_acquire) <= data)
        low = middle + 1;
      else
        high = middle;
    }
    if (low == 0) return spi::kNotShared;
    const Row& row = rows_[low - 1];
    const std::uint64_t at = data - row.begin.load(std::memory_order_acquire);
    const std::uint64_t length = row.bytes.load(std::memory_order_acquire);
    if (at > length || bytes > length - at) return spi::kNotShared;
    return row.offset.load(std::memory_order_acquire) + at;
  }

  std::atomic<std::uint64_t> version_ = 0;
  std::atomic<std::size_t> count_ = 0;
  std::array<Row, 1024> rows_ = {};
};

}  // namespace tutti
