#pragma once

#include <cstdint>

#include "algorithms/meeting.hpp"
#include "segment/channels.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::native {

/// broadcast, allgather and allgatherv of blocks that do not fit the mailboxes: the owner of a block streams it through
/// its broadcast ring, all other ranks copy it out.
class BroadcastStream {
 public:
  BroadcastStream(Channels& channels, const Operation& operation, const Meeting& meeting);

  /// Bytes of the chunks of an operation whose longest block has that many bytes.
  [[nodiscard]] static std::uint64_t chunk(const Geometry& geometry, OpKind kind, std::uint64_t longest) noexcept;
  [[nodiscard]] StepResult step();
  [[nodiscard]] int waits_for() const noexcept;
  [[nodiscard]] bool has_met_all() const noexcept { return meeting_.has_met_all(); }
  [[nodiscard]] const Meeting& meeting() const noexcept { return meeting_; }

 private:
  bool send();
  bool receive(int from);
  [[nodiscard]] bool copies_locally() const noexcept;

  Channels& channels_;
  const Operation& operation_;
  Meeting meeting_;
  std::uint64_t chunk_;     // bytes
  std::uint64_t open_ = 0;  // bytes still to be sent or received
  bool streaming_;
};

}  // namespace tutti::native
