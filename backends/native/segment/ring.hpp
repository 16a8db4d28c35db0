#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "segment/layout.hpp"
#include "segment/write_choice.hpp"
#include "tutti/spi/kernels.hpp"

/// Rings of slots with one writer. Reader and writer each keep their position in private memory. They share the stamp
/// in each slot (writer to readers: chunk i is there when the stamp is i + 1) and a tail per reader (reader to writer:
/// all chunks below it are free).
///
/// Memory order. The data is written before its stamp (release) and read after the stamp was seen (acquire); the data
/// is read before the tail is stored (release), and a slot is written again only after the tails were seen (acquire).
/// So no byte is ever written and read at the same time, and no index wraps in 64 bits. Stores and loads are
/// sequentially consistent and not only release and acquire because ranks may sleep, see Bells.
namespace tutti::native {

/// The writing end.
class RingWriter {
 public:
  /// The readers are the ranks [0, readers) without `except`; each has its own tail.
  RingWriter(const RingPlace& place, int readers, int except) noexcept
      : place_(place), readers_(readers), except_(except) {}

  /// Whether there is a free slot.
  [[nodiscard]] bool writable() noexcept {
    if (free()) return true;
    slowest_ = slowest();
    return free();
  }
  /// The slot to fill; only while writable().
  [[nodiscard]] Slot& slot() const noexcept { return place_.slot(head_); }
  /// Copies data into the slot.
  void fill(const std::byte* from, std::size_t bytes);
  /// Decides whether slots are written through the caches or past them.
  [[nodiscard]] WriteChoice& writes() noexcept { return writes_; }
  /// Hands the filled slot to the readers.
  void publish() noexcept {
    Slot& filled = slot();
    ++head_;
    filled.stamp.store(head_, std::memory_order_seq_cst);
  }

 private:
  // A reader that skips chunks may be ahead of the writer: compare as signed.
  [[nodiscard]] bool free() const noexcept {
    return static_cast<std::int64_t>(head_ - slowest_) < static_cast<std::int64_t>(place_.depth);
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
  /// Gives the front slot back.
  void pop() noexcept { skip(1); }
  /// Skips chunks that are for other readers, written or not.
  void skip(std::uint64_t chunks) noexcept {
    next_ += chunks;
    tail_->store(next_, std::memory_order_seq_cst);
  }

 private:
  RingPlace place_;
  std::atomic<std::uint64_t>* tail_;
  std::uint64_t next_ = 0;
};

/// Address of the data of a slot.
[[nodiscard]] inline std::byte* payload(Slot& slot, std::size_t bytes) noexcept {
  return bytes <= slot.brief.size() ? slot.brief.data() : reinterpret_cast<std::byte*>(&slot + 1);
}

inline void RingWriter::fill(const std::byte* from, std::size_t bytes) {
  std::byte* const to = payload(slot(), bytes);
  writes_.write(bytes, [&](bool streaming) { spi::copy(to, from, bytes, streaming); });
}

}  // namespace tutti::native
