#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "call/communicator_state.hpp"
#include "call/work_state.hpp"
#include "tutti/observer.hpp"
#include "tutti/spi/backend.hpp"

namespace tutti {

/// Steps that single operations (dispatch.cpp) and groups (group.cpp) have in common.

/// How an operation is begun.
enum class Manner : std::uint8_t {
  run,
  start,
  start_beside,  ///< while the progress thread uses the backend too
};

/// A message of a type that the leaf does not know goes as bytes; all other operations stay as they are.
[[nodiscard]] Operation as_sent(const detail::CommunicatorState& state, const spi::BackendCommunicator& leaf,
                                Operation op);

/// Whether the operations are messages on host memory that go on beside the progress thread. They must not wait for its
/// operations: the other ranks may wait for the messages before they do their part of those.
[[nodiscard]] bool goes_beside(detail::CommunicatorState& state, std::span<const Operation> ops);

/// Starts or runs an operation; null when it is complete. `supported`: the leaf has it, else it is emulated.
[[nodiscard]] std::unique_ptr<spi::PendingOperation> execute(detail::CommunicatorState& state,
                                                             spi::BackendCommunicator& leaf, const Operation& op,
                                                             bool supported, Manner how);

[[nodiscard]] std::unique_ptr<detail::OperationWork> make_work(const std::shared_ptr<detail::CommunicatorState>& shared,
                                                               std::unique_ptr<spi::PendingOperation> pending,
                                                               OperationId id, const Operation& op);

/// Tells the observer of an operation that is about to begin; the id that its records carry.
[[nodiscard]] OperationId announce(const detail::CommunicatorState& state, const spi::BackendCommunicator& leaf,
                                   const Operation& op, Observer& target, bool async, std::uint64_t group = 0);

/// Carries out an operation that a leaf lacks. Names the operation in the errors of those that stand for it.
void emulate(const detail::CommunicatorState& state, spi::BackendCommunicator& leaf, const Operation& op);

[[noreturn, gnu::cold]] void fail_aborted(const detail::CommunicatorState& state, const Operation& op);

/// Error for an operation that the backend lacks while TUTTI_STRICT forbids emulation.
[[noreturn, gnu::cold]] void refuse_emulation(const detail::CommunicatorState& state,
                                              const spi::BackendCommunicator& leaf, const Operation& op);

}  // namespace tutti
