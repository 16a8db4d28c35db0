#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "segment/layout.hpp"
#include "segment/write_choice.hpp"
#include "tutti/spi/kernels.hpp"

/// Rings of chunks with one writer. Reader and writer each keep their position in private memory. They share the stamp
/// in each slot (writer to readers: the chunk at position p is there when the stamp is p + 1) and a tail per reader
/// (reader to writer: everything below it is free). Chunks differ in length; the readers know the lengths.
///
/// Memory order. The data is written before its stamp (release) and read after the stamp was seen (acquire); the data
/// is read before the tail is stored (release), and memory is written again only after the tails were seen (acquire).
/// So no byte is ever written and read at the same time, and no index wraps in 64 bits. Stores and loads are
/// sequentially consistent and not only release and acquire because ranks may sleep, see Bells.
namespace tutti::native {

/// The writing end.
class RingWriter {
 public:
  /// The readers are the ranks [0, readers) without `except`; each has its own tail.
  RingWriter(const RingPlace& place, int readers, int except) noexcept
      : place_(place), readers_(readers), except_(except) {}

  /// Whether there is room for a chunk of that many bytes.
  [[nodiscard]] bool writable(std::size_t bytes) noexcept {
    const std::uint64_t end = place_.after(head_, bytes);
    if (is_free(end)) return true;
    slowest_ = slowest();
    return is_free(end);
  }
  /// Slot and memory of the chunk to be filled; only while writable().
  [[nodiscard]] Slot& slot() const noexcept { return place_.slot(head_); }
  [[nodiscard]] std::byte* payload(std::size_t bytes) const noexcept { return place_.payload(head_, bytes); }
  /// Writes the chunk by calling write(streaming).
  template <typename Write>
  void write(std::size_t bytes, const Write& write) {
    const Watch watch = writes_.write(bytes, write, [this](Watch way) { return read_cost(way); });
    slot().set_watch(bytes, watch);
  }
  /// Copies data into the chunk.
  void fill(const std::byte* from, std::size_t bytes) {
    std::byte* const to = payload(bytes);
    write(bytes, [&](bool streaming) { spi::copy(to, from, bytes, streaming); });
  }
  /// Decides whether slots are written through the caches or past them.
  [[nodiscard]] const WriteChoice& writes() const noexcept { return writes_; }
  /// Hands the filled chunk of that many bytes to the readers.
  void publish(std::size_t bytes) noexcept {
    slot().stamp.store(head_ + 1, std::memory_order_seq_cst);
    head_ = place_.after(head_, bytes);
  }

 private:
  // A reader that skips chunks may be ahead of the writer: compare as signed.
  [[nodiscard]] bool is_free(std::uint64_t end) const noexcept {
    return static_cast<std::int64_t>(end - slowest_) <= static_cast<std::int64_t>(place_.shape.depth);
  }
  [[nodiscard]] std::uint64_t slowest() const noexcept {
    std::uint64_t result = ~std::uint64_t{0};
    for (int r = 0; r < readers_; ++r) {
      if (r == except_) continue;
      const std::uint64_t tail = place_.reader(r).tail.load(std::memory_order_seq_cst);
      if (tail < result) result = tail;
    }
    return result;
  }
  // Of all readers together. Relaxed: a time that comes too late counts in the next trial.
  [[nodiscard]] MoveCost read_cost(Watch way) const noexcept {
    MoveCost cost;
    for (int r = 0; r < readers_; ++r) {
      if (r == except_) continue;
      const ReaderState& state = place_.reader(r);
      cost.ns += static_cast<double>(state.watched_ns[index_of(way)].load(std::memory_order_relaxed));
      cost.bytes += static_cast<double>(state.watched_bytes[index_of(way)].load(std::memory_order_relaxed));
    }
    return cost;
  }

  RingPlace place_;
  int readers_;
  int except_;
  std::uint64_t head_ = 0;
  std::uint64_t slowest_ = 0;
  WriteChoice writes_;
};

/// One reading end.
class RingReader {
 public:
  RingReader(const RingPlace& place, int reader) noexcept : place_(place), state_(&place.reader(reader)) {}

  /// The next chunk, or null when it is not there yet.
  [[nodiscard]] Slot* front() const noexcept {
    Slot& slot = place_.slot(next_);
    return slot.stamp.load(std::memory_order_seq_cst) == next_ + 1 ? &slot : nullptr;
  }
  /// Data of the front chunk, which has that many bytes.
  [[nodiscard]] const std::byte* payload(std::size_t bytes) const noexcept { return place_.payload(next_, bytes); }
  /// Copies the front chunk out.
  void copy_to(std::byte* to, std::size_t bytes, bool streaming) {
    if (!is_watched(bytes)) [[likely]] {
      spi::copy(to, payload(bytes), bytes, streaming);
      return;
    }
    const auto begin = std::chrono::steady_clock::now();
    spi::copy(to, payload(bytes), bytes, streaming);
    report(bytes, std::chrono::steady_clock::now() - begin);
  }
  /// Whether the writer wants to know how long reading the front chunk takes; then report() it.
  [[nodiscard]] bool is_watched(std::size_t bytes) const noexcept {
    return place_.slot(next_).watch(bytes) != Watch::none;
  }
  void report(std::size_t bytes, std::chrono::nanoseconds took) noexcept {
    const std::size_t way = index_of(place_.slot(next_).watch(bytes));
    MoveCost& cost = watched_[way];
    cost.add(static_cast<double>(bytes), static_cast<double>(took.count()));
    state_->watched_ns[way].store(static_cast<std::uint64_t>(cost.ns), std::memory_order_relaxed);
    state_->watched_bytes[way].store(static_cast<std::uint64_t>(cost.bytes), std::memory_order_relaxed);
  }
  /// Gives the front chunk back.
  void pop(std::size_t bytes) noexcept {
    next_ = place_.after(next_, bytes);
    state_->tail.store(next_, std::memory_order_seq_cst);
  }
  /// Skips `bytes` bytes in chunks of `chunk` that are for other readers, written or not.
  void skip(std::uint64_t bytes, std::size_t chunk) noexcept {
    for (; bytes > chunk; bytes -= chunk) next_ = place_.after(next_, chunk);
    if (bytes != 0) pop(bytes);
  }

 private:
  RingPlace place_;
  ReaderState* state_;
  std::uint64_t next_ = 0;
  std::array<MoveCost, kWatched> watched_;
};

}  // namespace tutti::native
