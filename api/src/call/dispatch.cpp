#include "call/dispatch.hpp"

#include <algorithm>

#include "call/emulation/emulation.hpp"
#include "call/execution.hpp"
#include "call/group.hpp"
#include "check/agreement.hpp"
#include "check/validation.hpp"
#include "handled_error.hpp"
#include "staging/staging_rules.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/instrument.hpp"
#include "watch/call_scope.hpp"

namespace tutti {

namespace {

using detail::CommunicatorState;

/// Out of line, so that a call that nobody observes does not pay for it.
[[gnu::noinline]] Work dispatch_observed(const std::shared_ptr<CommunicatorState>& shared,
                                         spi::BackendCommunicator& leaf, const Operation& op, bool supported,
                                         Manner how, Observer& target) {
  const OperationId id = announce(*shared, leaf, op, target, how != Manner::run);
  const spi::OperationScope scope(id);
  try {
    auto pending = execute(*shared, leaf, op, supported, how);
    if (pending != nullptr) return Work(make_work(shared, std::move(pending), id, op));
  } catch (...) {
    detail::report_completion(id, handled_error({}).code());
    throw;
  }
  detail::report_completion(id, ErrorCode::ok);
  return {};
}

/// By the progress thread, which reports the completion.
[[gnu::noinline]] Work dispatch_to_thread(const std::shared_ptr<CommunicatorState>& shared,
                                          spi::BackendCommunicator& leaf, const Operation& op, bool supported,
                                          bool async) {
  CommunicatorState& state = *shared;
  if (!supported && Emulator::method(op, leaf.capabilities()).empty()) {
    throw Error(ErrorCode::unsupported,
                context(state, op) + ": the backend has neither this operation nor others to build it from",
                leaf.name());
  }
  if (state.progress == nullptr) state.progress = std::make_unique<ProgressThread>(state);
  state.set(CommunicatorState::kStaging);
  Observer* target = observer();
  const bool returns = async || !op.stream.is_host();
  const OperationId id = target != nullptr ? announce(state, leaf, op, *target, returns) : 0;
  std::unique_ptr<spi::PendingOperation> pending;
  try {
    const spi::OperationScope scope(id);
    pending = state.progress->start(leaf, op, id);
  } catch (...) {
    detail::report_completion(id, handled_error({}).code());
    throw;
  }
  const auto by = op.stream.is_host() ? detail::FinishedBy::communicator : detail::FinishedBy::stream;
  Work work(std::make_unique<detail::OperationWork>(shared, std::move(pending), 0, by));
  if (op.stream.is_host() && !async) work.wait();
  return work;
}

/// By the caller's thread.
Work dispatch_here(const std::shared_ptr<CommunicatorState>& shared, spi::BackendCommunicator& leaf,
                   const Operation& op, bool supported, Manner how) {
  if (Observer* target = observer()) return dispatch_observed(shared, leaf, op, supported, how, *target);
  auto pending = execute(*shared, leaf, op, supported, how);
  if (pending == nullptr) return {};
  return Work(make_work(shared, std::move(pending), 0, op));
}

/// Everything that is not the plain path: stream or async work, emulation, checks, groups.
Work dispatch_any(const std::shared_ptr<CommunicatorState>& shared, Operation& op, bool async) {
  CommunicatorState& state = *shared;
  if (!state.process.is_home()) throw used_in_child(state.name);
  if (observer() != nullptr) state.dropped_works.look();
  if (state.is(CommunicatorState::kAborted)) fail_aborted(state, op);
  if (is_grouping()) {
    collect(shared, op);
    return {};
  }
  if (!is_message(op.kind)) ++state.sequence;
  op.sequence = state.sequence;
  const bool starts = async || !op.stream.is_host();
  const detail::CallScope inside(*state.call_progress, op, starts ? spi::CallProgress::kStarts : 0);
  if (state.comparison != nullptr) state.comparison->enter(op);
  spi::BackendCommunicator& leaf = state.backend->route(op);
  const bool supported = leaf.capabilities().takes(op);
  if (!supported && state.strict) refuse_emulation(state, leaf, op);
  const bool staged = needs_staging(op, leaf.capabilities());
  // Messages stay with the caller: one after the other they could wait for each other.
  const bool handed_over = async && state.has_progress_thread && op.stream.is_host() && !is_message(op.kind);
  // Behind operations that are being staged, so that the host need not wait for those.
  const bool follows = !op.stream.is_host() && state.progress != nullptr && !state.progress->is_idle();
  if (staged || handed_over || follows) return dispatch_to_thread(shared, leaf, op, supported, async);
  if (goes_beside(state, {&op, 1})) {
    Work work = dispatch_here(shared, leaf, op, supported, Manner::start_beside);
    if (!async) work.wait();
    return work;
  }
  state.finish_staging();
  if (state.is(CommunicatorState::kCheck)) check_agreement(state, agreement_leaf(state), op);
  Work work = dispatch_here(shared, leaf, op, supported, starts ? Manner::start : Manner::run);
  if (state.comparison != nullptr && !starts && !is_message(op.kind)) state.comparison->leave();
  return work;
}

[[gnu::noinline]] Work dispatch_special(const std::shared_ptr<CommunicatorState>& shared, Operation& op, bool async) {
  try {
    return dispatch_any(shared, op, async);
  } catch (...) {
    shared->end_failed_call();
  }
}

}  // namespace

Work dispatch(const std::shared_ptr<CommunicatorState>& shared, Operation& op, bool async) {
  CommunicatorState& state = *shared;
  const std::uint32_t special = state.special.load(std::memory_order_relaxed);
  op.timeout = op.timeout.count() == 0 ? state.timeout : std::min(op.timeout, kLongestTimeout);
  const bool plain = special == 0 && !async && op.stream.is_host() && op.where.kind == MemoryKind::host &&
                     detail::attention.load(std::memory_order_relaxed) == 0 && state.backend->capabilities().takes(op);
  if (!plain) [[unlikely]]
    return dispatch_special(shared, op, async);
  if (!is_message(op.kind)) ++state.sequence;
  op.sequence = state.sequence;
  const detail::CallScope inside(*state.call_progress, op);
  try {
    state.executor->run(op);  // a composite has what all its leaves have, and routes by itself
  } catch (...) {
    state.end_failed_call();
  }
  return {};
}

}  // namespace tutti
