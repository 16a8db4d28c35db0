#pragma once

#include <cstddef>
#include <cstdint>

#include "segment/channels.hpp"
#include "segment/layout.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::native {

/// The mailboxes of a collective: every rank enters by stamping its mailbox with the number of the collective and the
/// fingerprint of its call, small data beside them, and meets another rank by finding its stamp.
///
/// Reuse. The mailbox of collective k is written again for k + 2, so by then every rank must have completed k. A rank
/// that was met in k + 1 has: it enters k + 1 only after it has completed k, and its stamp (release) and our load of it
/// (acquire) put its reads of k before our writes for k + 2. In some collectives a rank does not meet all others (the
/// root of a broadcast waits for nobody) and learns nothing about them; then it reads RankControl::completed before it
/// enters the next one (see Engine::admit).
class Meeting {
 public:
  Meeting(Channels& channels, const Operation& operation, std::uint64_t number) noexcept
      : channels_(channels), operation_(operation), number_(number) {}

  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// Publishes this rank's call, with `bytes` of data that fit a mailbox.
  void enter(const void* data, std::size_t bytes) noexcept { enter(data, bytes, 0); }
  /// Publishes this rank's call, with an Offer as data.
  void enter_with_offer(const void* data, std::size_t bytes) noexcept { enter(data, bytes, bytes); }
  /// Publishes this rank's call on device memory; it does not match calls on host memory.
  void enter_on_device(const void* data, std::size_t bytes) noexcept;
  /// Publishes the call without data, unless an algorithm that then declined has already published it.
  void enter_once() noexcept {
    if (!entered_) enter(nullptr, 0);
  }
  /// Whether the peer has entered. Throws Error{invalid_usage} if it called something else.
  [[nodiscard]] bool meet(int peer) const {
    const Slot& slot = channels_.layout().mailbox(peer, number_).slot;
    if (slot.stamp.load(std::memory_order_seq_cst) != number_) return false;
    if (slot.tag != tag_) [[unlikely]]
      throw_mismatch(peer);
    return true;
  }
  /// Whether all peers have entered; remembers which ones it has met.
  [[nodiscard]] bool meet_all() {
    for (; met_ < channels_.size(); ++met_) {
      if (!meet(channels_.peer(met_))) return false;
    }
    return true;
  }
  [[nodiscard]] bool has_met_all() const noexcept { return met_ >= channels_.size(); }
  /// The rank that meet_all() waits for, or kAnyone.
  [[nodiscard]] int missing() const noexcept { return has_met_all() ? kAnyone : channels_.peer(met_); }
  /// Data of a rank that was met.
  [[nodiscard]] const std::byte* data(int peer, std::size_t bytes) const noexcept {
    return channels_.layout().mailbox(peer, number_).payload(bytes);
  }
  /// Whether a rank that was met, or this one, entered with an offer.
  [[nodiscard]] bool has_offer(int rank) const noexcept {
    return channels_.layout().mailbox(rank, number_).slot.total != 0;
  }
  [[nodiscard]] std::uint64_t tag() const noexcept { return tag_; }

  /// Throws Error{invalid_usage} if a rank has entered with another call. For ranks that wait for long: those of their
  /// own collective need not meet that rank.
  void compare_all() const;
  [[noreturn]] void throw_mismatch(int peer) const;
  /// Throws Error{invalid_usage}; for messages whose length only the two ranks know.
  [[noreturn]] void throw_length_mismatch(int peer, std::uint64_t sent_bytes, std::uint64_t expected_bytes) const;

 private:
  void enter(const void* data, std::size_t bytes, std::size_t offered) noexcept;
  void show(const void* data, std::size_t bytes, std::size_t offered) noexcept;

  Channels& channels_;
  const Operation& operation_;
  std::uint64_t number_;
  std::uint64_t tag_ = 0;
  bool on_device_ = false;
  int met_ = 1;
  bool entered_ = false;
};

}  // namespace tutti::native
