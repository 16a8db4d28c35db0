#pragma once

#include <cstdint>

#include "segment/channels.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::native {

/// Progress of a send or a recv, through rings of their own so that they are independent of the collectives. A message
/// has at least one chunk; each chunk carries type and length for the receiver to compare.
class Message {
 public:
  /// Bytes of the chunks of a message of that many bytes that goes through rings of that shape.
  [[nodiscard]] static std::uint64_t chunk(const RingShape& ring, std::uint64_t bytes) noexcept;

  /// Makes as much progress as possible. Throws Error{invalid_usage} on the receiver if the two ranks disagree.
  [[nodiscard]] StepResult step(Channels& channels, const Operation& operation);

 private:
  StepResult send(Channels& channels, const Operation& operation);
  StepResult receive(Channels& channels, const Operation& operation);

  std::uint64_t bytes_ = 0;
};

}  // namespace tutti::native
