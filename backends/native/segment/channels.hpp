#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "native_api.hpp"
#include "segment/bells.hpp"
#include "segment/layout.hpp"
#include "segment/ring.hpp"
#include "segment/segment.hpp"

namespace tutti::native {

/// Result of an attempt to make progress.
enum class StepResult : std::uint8_t { blocked, moved, done };

/// Addresses, lengths and progress of one message to and one from a peer.
struct Transfer {
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::uint64_t send_bytes = 0;
  std::uint64_t receive_bytes = 0;
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

/// A rank's ends of the rings in the segment, and scratch space for the current collective, so that an operation
/// allocates nothing.
class Channels {
 public:
  Channels(std::shared_ptr<Segment> segment, int rank);

  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  /// The rank `distance` places after this one; the first rank follows the last.
  [[nodiscard]] int peer(int distance) const noexcept {
    const int r = rank_ + distance;
    return r < size_ ? r : r - size_;
  }
  [[nodiscard]] const Segment& segment() const noexcept { return *segment_; }
  [[nodiscard]] const Layout& layout() const noexcept { return segment_->layout(); }
  [[nodiscard]] const Geometry& geometry() const noexcept { return layout().geometry(); }
  [[nodiscard]] const Bells& bells() const noexcept { return bells_; }
  /// Whether results of that many bytes on every rank are better written past the caches.
  [[nodiscard]] bool exceeds_cache(std::uint64_t bytes) const noexcept { return bytes > streaming_from_; }

  /// Rings of the collectives: to and from one peer, from this rank to all, from a peer to all.
  [[nodiscard]] RingWriter& pair_to(int peer) noexcept { return pair_to_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] RingReader& pair_from(int peer) noexcept { return pair_from_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] RingWriter& broadcast() noexcept { return broadcast_; }
  [[nodiscard]] RingReader& broadcast_from(int peer) noexcept {
    return broadcast_from_[static_cast<std::size_t>(peer)];
  }
  /// Rings of send and recv.
  [[nodiscard]] RingWriter& message_to(int peer) noexcept { return message_to_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] RingReader& message_from(int peer) noexcept { return message_from_[static_cast<std::size_t>(peer)]; }

  /// Scratch space, one element per rank.
  [[nodiscard]] Transfer& transfer(int peer) noexcept { return transfers_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] const void** inputs() noexcept { return inputs_.data(); }
  [[nodiscard]] void** outputs() noexcept { return outputs_.data(); }

  /// Fingerprint of the collectives so far, in which this rank has entered them; see fingerprint().
  [[nodiscard]] std::uint64_t history() const noexcept { return history_; }
  void set_history(std::uint64_t fingerprint) noexcept { history_ = fingerprint; }

 private:
  std::shared_ptr<Segment> segment_;
  int rank_;
  int size_;
  Bells bells_;
  std::uint64_t streaming_from_;
  std::vector<RingWriter> pair_to_;
  std::vector<RingReader> pair_from_;
  RingWriter broadcast_;
  std::vector<RingReader> broadcast_from_;
  std::vector<RingWriter> message_to_;
  std::vector<RingReader> message_from_;
  std::vector<Transfer> transfers_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::uint64_t history_ = 0;
};

}  // namespace tutti::native
