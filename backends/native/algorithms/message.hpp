#pragma once

#include <cstdint>

#include "segment/channels.hpp"
#include "tutti/operation.hpp"

namespace tutti::native {

/// A send or a recv under way, through rings of its own so that it is independent of the collectives. At least one
/// chunk, which carries type and length for the receiver to compare.
class Message {
 public:
  /// Does what it can. Throws Error{invalid_usage} on the receiver if the two disagree.
  [[nodiscard]] StepResult step(Channels& channels, const Operation& operation);

 private:
  StepResult send(Channels& channels, const Operation& operation);
  StepResult receive(Channels& channels, const Operation& operation);

  std::uint64_t bytes_ = 0;
};

}  // namespace tutti::native
