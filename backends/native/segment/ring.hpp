#pragma once

#include <atomic>
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
  /// Copies data into the chunk.
  void fill(const std::byte* from, std::size_t bytes) {
    std::byte* const to = payload(bytes);
    writes_.write(bytes, [&](bool streaming) { spi::copy(to, from, bytes, streaming); });
  }
  /// Decides whether slots are written through the caches or past them.
  [[nodiscard]] WriteChoice& writes() noexcept { return writes_; }
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
      const std::uint64_t tail = place_.tail(r).load(std::memory_order_seq_cst);
      if (tail < result) result = tail;
    }
    return result;
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
  RingReader(const RingPlace& place, int reader) noexcept : place_(place), tail_(&place.tail(reader)) {}

  /// The next chunk, or null when it is not there yet.
  [[nodiscard]] Slot* front() const noexcept {
    Slot& slot = place_.slot(next_);
    return slot.stamp.load(std::memory_order_seq_cst) == next_ + 1 ? &slot : nullptr;
  }
  /// Data of the front chunk, which has that many bytes.
  [[nodiscard]] const std::byte* payload(std::size_t bytes) const noexcept { return place_.payload(next_, bytes); }
  /// Gives the front chunk back.
  void pop(std::size_t bytes) noexcept {
    next_ = place_.after(next_, bytes);
    tail_->store(next_, std::memory_order_seq_cst);
  }
  /// Skips `bytes` bytes in chunks of `chunk` that are for other readers, written or not.
  void skip(std::uint64_t bytes, std::size_t chunk) noexcept {
    for (; bytes > chunk; bytes -= chunk) next_ = place_.after(next_, chunk);
    if (bytes != 0) pop(bytes);
  }

 private:
  RingPlace place_;
  std::atomic<std::uint64_t>* tail_;
  std::uint64_t next_ = 0;
};

}  // namespace tutti::native
