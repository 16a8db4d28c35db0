#include "call/execution.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "call/emulation/emulation.hpp"
#include "check/validation.hpp"
#include "tutti/error.hpp"

namespace tutti {

using detail::CommunicatorState;

namespace {

/// Operations of the process so far.
std::atomic<OperationId> next_operation{1};

/// Names the operation that was asked for in an error of the operations that stand for it.
[[noreturn]] void rethrow_for(const CommunicatorState& state, const Operation& op, const Error& error) {
  throw Error(error.code(), context(state, op) + ", emulated: " + error.what(), error.backend(), error.vendor_code());
}

bool is_emulated(const spi::BackendCommunicator& leaf, const Operation& op) {
  const spi::Capabilities& has = leaf.capabilities();
  return !has.takes(op) || has.builds(op.kind);
}

}  // namespace

Operation as_sent(const CommunicatorState& state, const spi::BackendCommunicator& leaf, Operation op) {
  const spi::Capabilities& has = leaf.capabilities();
  if (!is_message(op.kind) || has.takes(op) || state.strict || !has.has(DataType::uint8)) return op;
  op.count = op.block_bytes();
  op.type = DataType::uint8;
  return op;
}

bool goes_beside(CommunicatorState& state, std::span<const Operation> ops) {
  const auto is_plain = [&](const Operation& op) {
    if (!is_message(op.kind) || !op.stream.is_host() || op.where.kind != MemoryKind::host) return false;
    const spi::BackendCommunicator& leaf = state.backend->route(op);
    return leaf.capabilities().takes(as_sent(state, leaf, op));
  };
  return state.is(CommunicatorState::kStaging) && std::ranges::all_of(ops, is_plain) &&
         state.progress->admits_messages();
}

std::unique_ptr<spi::PendingOperation> execute(CommunicatorState& state, spi::BackendCommunicator& leaf,
                                               const Operation& op, bool supported, Manner how) {
  if (how == Manner::start_beside) {
    const std::scoped_lock lock(state.progress->backend_lock());
    return leaf.start(as_sent(state, leaf, op));
  }
  if (supported && how == Manner::run) {
    leaf.run(op);
    return nullptr;
  }
  if (supported) return leaf.start(op);
  if (how == Manner::run) {
    emulate(state, leaf, op);
    return nullptr;
  }
  try {
    return Emulator(leaf, state.rank, state.size).start(op);
  } catch (const Error& error) {
    rethrow_for(state, op, error);
  }
}

void emulate(const CommunicatorState& state, spi::BackendCommunicator& leaf, const Operation& op) {
  try {
    Emulator(leaf, state.rank, state.size).run(op);
  } catch (const Error& error) {
    rethrow_for(state, op, error);
  }
}

void fail_aborted(const CommunicatorState& state, const Operation& op) {
  throw Error(ErrorCode::aborted, context(state, op) + ": the communicator was aborted", state.backend->name());
}

std::unique_ptr<detail::OperationWork> make_work(const std::shared_ptr<CommunicatorState>& shared,
                                                 std::unique_ptr<spi::PendingOperation> pending, OperationId id,
                                                 const Operation& op) {
  const auto by = op.stream.is_host() ? detail::FinishedBy::caller : detail::FinishedBy::stream;
  return std::make_unique<detail::OperationWork>(shared, std::move(pending), id, by);
}

OperationId announce(const CommunicatorState& state, const spi::BackendCommunicator& leaf, const Operation& op,
                     Observer& target, bool async, std::uint64_t group) {
  const OperationId id = next_operation.fetch_add(1, std::memory_order_relaxed);
  target.on(OpIssued{id, op, state.id, state.rank, state.size, leaf.name(), is_emulated(leaf, op), observer_time_ns(),
                     async, group});
  return id;
}

void refuse_emulation(const CommunicatorState& state, const spi::BackendCommunicator& leaf, const Operation& op) {
  throw Error(
      ErrorCode::unsupported,
      context(state, op) + ": backend " + leaf.name() + " has no such operation and TUTTI_STRICT forbids emulation",
      leaf.name());
}

}  // namespace tutti
