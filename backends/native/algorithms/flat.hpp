#pragma once

#include <cstdint>

#include "algorithms/meeting.hpp"
#include "segment/channels.hpp"
#include "tutti/operation.hpp"

namespace tutti::native {

/// A collective whose data fits the mailboxes: everybody puts in what others need and takes what it needs, one step.
/// Also any collective of one rank, where nothing needs to fit anywhere.
class Flat {
 public:
  /// Whether the operation can be done so; the same answer on all ranks.
  [[nodiscard]] static bool fits(const Channels& channels, const Operation& operation) noexcept;

  Flat(Channels& channels, const Operation& operation, const Meeting& meeting);

  [[nodiscard]] StepResult step();
  /// Whom a blocked step waits for.
  [[nodiscard]] int waits_for() const noexcept;
  [[nodiscard]] bool has_met_all() const noexcept { return meeting_.has_met_all(); }

 private:
  void finish();
  void reduce();
  void copy_blocks();

  Channels& channels_;
  const Operation& operation_;
  Meeting meeting_;
};

}  // namespace tutti::native
