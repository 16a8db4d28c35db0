#pragma once

#include <cstdint>

#include "algorithms/meeting.hpp"
#include "segment/channels.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::native {

/// A collective whose data fits the mailboxes, in one step: every rank puts its data into its mailbox and reads the
/// mailboxes of the others. Also collectives of a single rank, of any size, unless only the root or a pair knows the
/// lengths.
class Flat {
 public:
  /// Whether the operation fits the mailboxes; the same answer on all ranks.
  [[nodiscard]] static bool fits(const Geometry& geometry, const Operation& operation) noexcept;

  Flat(Channels& channels, const Operation& operation, const Meeting& meeting);

  [[nodiscard]] StepResult step();
  /// The rank that a blocked step waits for, or kAnyone.
  [[nodiscard]] int waits_for() const noexcept;
  [[nodiscard]] bool has_met_all() const noexcept { return meeting_.has_met_all(); }
  [[nodiscard]] const Meeting& meeting() const noexcept { return meeting_; }

 private:
  void finish();
  void reduce();
  void copy_blocks();

  Channels& channels_;
  const Operation& operation_;
  Meeting meeting_;
};

}  // namespace tutti::native
