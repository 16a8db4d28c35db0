#include "call/dispatch.hpp"

#include <algorithm>
#include <atomic>

#include "call/agreement.hpp"
#include "call/emulation.hpp"
#include "call/validation.hpp"
#include "call/work_state.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/instrument.hpp"

namespace tutti {

namespace {

using detail::CommunicatorState;

/// Operations of the process so far.
std::atomic<OperationId> next_operation{1};

[[noreturn, gnu::cold]] void fail_aborted(const CommunicatorState& state, const Operation& op) {
  throw Error(ErrorCode::aborted, context(state, op) + ": the communicator was aborted",
              std::string(state.selection.module->name));
}

[[gnu::cold]] void refuse_emulation(const CommunicatorState& state, const Operation& op) {
  const std::string backend(state.selection.module->name);
  throw Error(ErrorCode::unsupported,
              context(state, op) + ": backend " + backend + " has no such operation and TUTTI_STRICT forbids emulation",
              backend);
}

/// An error of an operation that stands for another one says which.
[[noreturn]] void rethrow_for(const CommunicatorState& state, const Operation& op, const Error& error) {
  throw Error(error.code(), context(state, op) + ", emulated: " + error.what(), error.backend(), error.vendor_code());
}

/// How an operation is begun.
enum class Manner : std::uint8_t {
  run,
  start,
  start_beside,  ///< while a thread of the communicator's uses the backend too
};

/// A message of a type that the backend does not know goes as bytes; everything else as it is.
Operation as_sent(const CommunicatorState& state, Operation op) {
  const spi::Capabilities& has = state.backend->capabilities();
  if (!is_message(op.kind) || has.takes(op) || state.strict || !has.has(DataType::uint8)) return op;
  op.count = op.block_bytes();
  op.type = DataType::uint8;
  return op;
}

/// Whether they are messages on host memory, and go on beside what a thread of the communicator's does. To wait for
/// that could be for ever: the other ranks may wait for the messages before they do their part of it.
bool goes_beside(CommunicatorState& state, std::span<const Operation> ops) {
  const auto is_plain = [&](const Operation& op) {
    return !!is_message(op.kind) && op.stream.is_host() && op.where.kind == MemoryKind::host &&
           state.backend->capabilities().takes(as_sent(state, op));
  };
  return state.is(CommunicatorState::kStaging) && std::ranges::all_of(ops, is_plain) &&
         state.staging->admits_messages();
}

/// Starts or runs it; null when it is complete.
std::unique_ptr<spi::PendingOperation> execute(CommunicatorState& state, const Operation& op, bool supported,
                                               Manner how) {
  if (how == Manner::start_beside) {
    const std::scoped_lock lock(state.staging->backend_lock());
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

bool is_emulated(const CommunicatorState& state, const Operation& op) {
  const spi::Capabilities& has = state.backend->capabilities();
  return !has.takes(op) || has.builds(op.kind);
}

/// What a call costs more when somebody observes it is kept out of the way of one that nobody does.
[[gnu::noinline]] Work dispatch_observed(const std::shared_ptr<CommunicatorState>& shared, const Operation& op,
                                         bool supported, Manner how, Observer& target) {
  CommunicatorState& state = *shared;
  const OperationId id = next_operation.fetch_add(1, std::memory_order_relaxed);
  target.on(OpIssued{id, op, state.id, state.rank, state.size, state.selection.module->name, is_emulated(state, op),
                     observer_time_ns()});
  const spi::OperationScope scope(id);
  try {
    auto pending = execute(state, op, supported, how);
    if (pending != nullptr) return Work(make_work(shared, std::move(pending), id, op));
  } catch (const Error& error) {
    detail::report_completion(id, error.code());
    throw;
  }
  detail::report_completion(id, ErrorCode::ok);
  return {};
}

/// By a thread of the communicator's, which reports its end.
[[gnu::noinline]] Work dispatch_staged(const std::shared_ptr<CommunicatorState>& shared, const Operation& op,
                                       bool supported, bool async) {
  CommunicatorState& state = *shared;
  if (!supported && Emulator::method(op, state.backend->capabilities()).empty()) {
    throw Error(ErrorCode::unsupported,
                context(state, op) + ": the backend has neither this nor anything to build it from",
                std::string(state.selection.module->name));
  }
  if (state.staging == nullptr) state.staging = std::make_unique<Staging>(state);
  state.set(CommunicatorState::kStaging);
  OperationId id = 0;
  if (Observer* target = observer()) {
    id = next_operation.fetch_add(1, std::memory_order_relaxed);
    target->on(OpIssued{id, op, state.id, state.rank, state.size, state.selection.module->name, is_emulated(state, op),
                        observer_time_ns()});
  }
  std::unique_ptr<spi::PendingOperation> pending;
  try {
    const spi::OperationScope scope(id);
    pending = state.staging->start(op, id);
  } catch (const Error& error) {
    detail::report_completion(id, error.code());
    throw;
  }
  const auto by = op.stream.is_host() ? detail::FinishedBy::communicator : detail::FinishedBy::stream;
  Work work(std::make_unique<detail::WorkState>(shared, std::move(pending), 0, by));
  if (op.stream.is_host() && !async) work.wait();
  return work;
}

/// On the caller's thread.
Work dispatch_unstaged(const std::shared_ptr<CommunicatorState>& shared, const Operation& op, bool supported,
                       Manner how) {
  if (Observer* target = observer()) return dispatch_observed(shared, op, supported, how, *target);
  auto pending = execute(*shared, op, supported, how);
  if (pending == nullptr) return {};
  return Work(make_work(shared, std::move(pending), 0, op));
}

/// Everything that is not the plain path: stream or async work, emulation, checks, groups.
[[gnu::noinline]] Work dispatch_special(const std::shared_ptr<CommunicatorState>& shared, Operation& op, bool async) {
  CommunicatorState& state = *shared;
  if (observer() != nullptr) state.dropped_works.look();
  if (state.is(CommunicatorState::kAborted)) fail_aborted(state, op);
  if (state.is(CommunicatorState::kGrouping)) {
    state.collected.push_back(op);
    return {};
  }
  const bool supported = state.backend->capabilities().takes(op);
  if (!supported && state.strict) refuse_emulation(state, op);
  const bool staged = needs_staging(op, state.backend->capabilities());
  // Messages stay with the caller: one after the other they could wait for each other.
  const bool handed_over = async && state.has_progress_thread && op.stream.is_host() && !is_message(op.kind);
  // Behind what is being staged, so that the host need not wait for that.
  const bool follows = !op.stream.is_host() && state.staging != nullptr && !state.staging->is_idle();
  if (staged || handed_over || follows) return dispatch_staged(shared, op, supported, async);
  if (goes_beside(state, {&op, 1})) {
    Work work = dispatch_unstaged(shared, op, supported, Manner::start_beside);
    if (!async) work.wait();
    return work;
  }
  state.finish_staging();
  if (state.is(CommunicatorState::kCheck)) check_agreement(state, *state.backend, op);
  return dispatch_unstaged(shared, op, supported, async || !op.stream.is_host() ? Manner::start : Manner::run);
}

/// Messages on host memory, while a thread of the communicator's uses the backend too.
void exchange_beside(const std::shared_ptr<CommunicatorState>& shared, std::span<const Operation> ops) {
  std::unique_ptr<spi::PendingOperation> pending;
  {
    const std::scoped_lock lock(shared->staging->backend_lock());
    pending = shared->backend->start_group(ops);
  }
  Work(make_work(shared, std::move(pending), 0, ops.front())).wait();
}

/// They end together, so the shortest time that one of them was given is that of all.
std::chrono::nanoseconds shortest_timeout(std::span<const Operation> ops) noexcept {
  std::chrono::nanoseconds shortest{};
  for (const Operation& op : ops) {
    if (op.timeout.count() != 0 && (shortest.count() == 0 || op.timeout < shortest)) shortest = op.timeout;
  }
  return shortest;
}

}  // namespace

Work dispatch(const std::shared_ptr<CommunicatorState>& shared, Operation& op, bool async) {
  CommunicatorState& state = *shared;
  const std::uint32_t special = state.special.load(std::memory_order_relaxed);
  op.timeout = op.timeout.count() == 0 ? state.timeout : std::min(op.timeout, kLongestTimeout);
  if (!is_message(op.kind) && (special & CommunicatorState::kGrouping) == 0) ++state.sequence;
  op.sequence = state.sequence;

  const bool plain = special == 0 && !async && op.stream.is_host() && op.where.kind == MemoryKind::host &&
                     observer() == nullptr && state.backend->capabilities().takes(op);
  if (!plain) [[unlikely]]
    return dispatch_special(shared, op, async);
  state.backend->run(op);
  return {};
}

void dispatch_group(const std::shared_ptr<CommunicatorState>& shared) {
  CommunicatorState& state = *shared;
  const std::span<Operation> ops = state.collected;
  if (ops.empty()) return;
  const bool beside = goes_beside(state, ops);
  if (!beside) state.finish_staging();
  const std::chrono::nanoseconds timeout = shortest_timeout(ops);
  for (Operation& op : ops) {
    if (!is_message(op.kind)) ++state.sequence;
    op.sequence = state.sequence;
    op.timeout = timeout;
  }
  const spi::Capabilities& has = state.backend->capabilities();
  const auto supported = [&](const Operation& op) { return has.takes(op); };
  std::vector<OperationId> ids;
  if (Observer* target = observer()) {
    for (const Operation& op : ops) {
      ids.push_back(next_operation.fetch_add(1, std::memory_order_relaxed));
      target->on(OpIssued{ids.back(), op, state.id, state.rank, state.size, state.selection.module->name,
                          is_emulated(state, op), observer_time_ns()});
    }
  }
  // At the same time as the others: emulated one by one messages could wait for each other.
  for (Operation& op : ops) op = as_sent(state, op);
  // What the group caused is booked on its first operation: the backend sees them as one.
  const spi::OperationScope scope(ids.empty() ? 0 : ids.front());
  ErrorCode outcome = ErrorCode::ok;
  const auto report = [&] {
    for (const OperationId id : ids) detail::report_completion(id, outcome);
  };
  try {
    for (const Operation& op : ops) {
      if (!supported(op) && state.strict) refuse_emulation(state, op);
      if (state.strict && is_copied(op, has)) throw staging_refusal(state, op);
      if (state.is(CommunicatorState::kCheck)) check_agreement(state, *state.backend, op);
    }
    const auto carry_out = [&] {
      // Emulated ones block, so the others must be under way before; collectives keep their order within each part,
      // which is the same on all ranks.
      const auto middle = std::stable_partition(ops.begin(), ops.end(), supported);
      state.backend->run_group({ops.begin(), middle});
      for (auto op = middle; op != ops.end(); ++op) (void)execute(state, *op, false, Manner::run);
    };
    if (beside) {
      exchange_beside(shared, ops);
    } else if (std::ranges::none_of(ops, [&](const Operation& op) { return needs_staging(op, has); })) {
      carry_out();
    } else {
      if (state.staging == nullptr) state.staging = std::make_unique<Staging>(state);
      state.staging->run_group(ops, carry_out);
    }
  } catch (const Error& error) {
    outcome = error.code();
    report();
    throw;
  }
  report();
}

}  // namespace tutti
