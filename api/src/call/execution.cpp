#include "call/execution.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "call/emulation.hpp"
#include "call/validation.hpp"
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

bool is_emulated(const CommunicatorState& state, const Operation& op) {
  const spi::Capabilities& has = state.backend->capabilities();
  return !has.takes(op) || has.builds(op.kind);
}

}  // namespace

Operation as_sent(const CommunicatorState& state, Operation op) {
  const spi::Capabilities& has = state.backend->capabilities();
  if (!is_message(op.kind) || has.takes(op) || state.strict || !has.has(DataType::uint8)) return op;
  op.count = op.block_bytes();
  op.type = DataType::uint8;
  return op;
}

bool goes_beside(CommunicatorState& state, std::span<const Operation> ops) {
  const auto is_plain = [&](const Operation& op) {
    return is_message(op.kind) && op.stream.is_host() && op.where.kind == MemoryKind::host &&
           state.backend->capabilities().takes(as_sent(state, op));
  };
  return state.is(CommunicatorState::kStaging) && std::ranges::all_of(ops, is_plain) &&
         state.progress->admits_messages();
}

std::unique_ptr<spi::PendingOperation> execute(CommunicatorState& state, const Operation& op, bool supported,
                                               Manner how) {
  if (how == Manner::start_beside) {
    const std::scoped_lock lock(state.progress->backend_lock());
    return state.backend->start(as_sent(state, op));
  }
  if (supported && how == Manner::run) {
    state.backend->run(op);
    return nullptr;
  }
  if (supported) return state.backend->start(op);
  try {
    Emulator emulator(*state.backend, state.rank, state.size);
    if (how == Manner::start) return emulator.start(op);
    emulator.run(op);
    return nullptr;
  } catch (const Error& error) {
    rethrow_for(state, op, error);
  }
}

std::unique_ptr<detail::WorkState> make_work(const std::shared_ptr<CommunicatorState>& shared,
                                             std::unique_ptr<spi::PendingOperation> pending, OperationId id,
                                             const Operation& op) {
  const auto by = op.stream.is_host() ? detail::FinishedBy::caller : detail::FinishedBy::stream;
  return std::make_unique<detail::WorkState>(shared, std::move(pending), id, by);
}

OperationId announce(const CommunicatorState& state, const Operation& op, Observer& target) {
  const OperationId id = next_operation.fetch_add(1, std::memory_order_relaxed);
  target.on(OpIssued{id, op, state.id, state.rank, state.size, state.selection.module->name, is_emulated(state, op),
                     observer_time_ns()});
  return id;
}

void refuse_emulation(const CommunicatorState& state, const Operation& op) {
  const std::string backend(state.selection.module->name);
  throw Error(ErrorCode::unsupported,
              context(state, op) + ": backend " + backend + " has no such operation and TUTTI_STRICT forbids emulation",
              backend);
}

}  // namespace tutti
