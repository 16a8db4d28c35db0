#pragma once

#include <cstdint>

#include "algorithms/meeting.hpp"
#include "device/device_reach.hpp"
#include "segment/channels.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::native {

/// A meeting of all ranks in a collective on device memory. In the first meeting of a collective the ranks exchange
/// offers and open each other's memory; afterwards all ranks know whether all could. Each further meeting, while the
/// memory is open, is a barrier after a step of the work. Moves no data.
class DeviceExchange {
 public:
  DeviceExchange(Channels& channels, DeviceReach& reach, const Operation& operation, const Meeting& meeting);

  [[nodiscard]] StepResult step();
  [[nodiscard]] int waits_for() const noexcept { return phase_ == Phase::meeting ? meeting_.missing() : kAnyone; }
  [[nodiscard]] bool has_met_all() const noexcept { return meeting_.has_met_all(); }
  [[nodiscard]] const Meeting& meeting() const noexcept { return meeting_; }

 private:
  enum class Phase : std::uint8_t { meeting, opening };

  [[nodiscard]] StepResult open();
  [[nodiscard]] StepResult await_verdicts();

  Channels& channels_;
  DeviceReach& reach_;
  const Operation& operation_;
  Meeting meeting_;
  bool is_offer_;
  Phase phase_ = Phase::meeting;
};

}  // namespace tutti::native
