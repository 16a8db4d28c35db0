#pragma once

#include <cstdint>

#include "algorithms/meeting.hpp"
#include "segment/channels.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::native {

/// gather(v), scatter(v), alltoall(v): a message of its own for each pair of ranks, streamed through the pair rings.
/// Every message has at least one chunk, so that a receiver of nothing notices a sender of something and vice versa.
class PairExchange {
 public:
  PairExchange(Channels& channels, const Operation& operation, const Meeting& meeting);

  /// Bytes of the chunks of a message of that many bytes.
  [[nodiscard]] static std::uint64_t chunk(const Geometry& geometry, OpKind kind, std::uint64_t bytes) noexcept;
  [[nodiscard]] StepResult step();
  [[nodiscard]] int waits_for() const noexcept;
  [[nodiscard]] bool has_met_all() const noexcept { return meeting_.has_met_all(); }
  [[nodiscard]] const Meeting& meeting() const noexcept { return meeting_; }

 private:
  [[nodiscard]] bool sends_to(int peer) const noexcept;
  [[nodiscard]] bool receives_from(int peer) const noexcept;
  [[nodiscard]] std::uint64_t chunk(std::uint64_t bytes) const noexcept {
    return chunk(channels_.geometry(), operation_.kind, bytes);
  }
  [[nodiscard]] std::uint64_t chunks(std::uint64_t bytes) const noexcept;
  void find_blocks();
  void check_own_block();
  [[nodiscard]] bool copy_own_piece();
  bool send(int peer);
  bool receive(int peer);

  Channels& channels_;
  const Operation& operation_;
  Meeting meeting_;
  std::uint64_t open_ = 0;      // chunks still to be sent or received
  std::uint64_t own_open_ = 0;  // bytes of the block to itself that are still to be copied
  bool streaming_ = false;
};

}  // namespace tutti::native
