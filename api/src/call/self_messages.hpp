#pragma once

#include <memory>
#include <vector>

#include "call/communicator_state.hpp"
#include "tutti/spi/backend.hpp"
#include "tutti/types/operation.hpp"

/// Messages of a rank to itself within a group. They are copies, the same for all backends, which never see them.
namespace tutti {

/// A send of a rank to itself, and the recv that gets it.
struct SelfMessage {
  Operation send;
  Operation recv;
};

/// Takes the messages of the rank to itself out of the operations of a group: the n-th send goes to the n-th recv.
/// Throws Error{invalid_usage} if one of them has no counterpart, or another count or type.
[[nodiscard]] std::vector<SelfMessage> take_self_messages(const detail::CommunicatorState& state,
                                                          std::vector<Operation>& ops);

/// Copies the message, or enqueues the copy on its stream; null when it is complete.
[[nodiscard]] std::unique_ptr<spi::PendingOperation> start_copy(const SelfMessage& message);

}  // namespace tutti
