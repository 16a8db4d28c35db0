#include "call/group.hpp"

#include <algorithm>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "call/agreement.hpp"
#include "call/execution.hpp"
#include "staging/group_image.hpp"
#include "staging/staging_rules.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/instrument.hpp"

namespace tutti {

namespace {

using detail::CommunicatorState;

/// The operations of a group end together, so the shortest timeout that one of them was given is that of all.
std::chrono::nanoseconds shortest_timeout(std::span<const Operation> ops) noexcept {
  std::chrono::nanoseconds shortest{};
  for (const Operation& op : ops) {
    if (op.timeout.count() != 0 && (shortest.count() == 0 || op.timeout < shortest)) shortest = op.timeout;
  }
  return shortest;
}

void number(CommunicatorState& state, std::span<Operation> ops) {
  const std::chrono::nanoseconds timeout = shortest_timeout(ops);
  for (Operation& op : ops) {
    if (!is_message(op.kind)) ++state.sequence;
    op.sequence = state.sequence;
    op.timeout = timeout;
  }
}

void check(CommunicatorState& state, std::span<const Operation> ops) {
  const spi::Capabilities& has = state.backend->capabilities();
  for (const Operation& op : ops) {
    if (!has.takes(op) && state.strict) refuse_emulation(state, op);
    if (state.strict && is_copied(op, has)) throw staging_refusal(state, op);
    if (state.is(CommunicatorState::kCheck)) check_agreement(state, *state.backend, op);
  }
}

/// Messages on host memory, while the progress thread uses the backend too.
void exchange_beside(const std::shared_ptr<CommunicatorState>& shared, std::span<const Operation> ops) {
  std::unique_ptr<spi::PendingOperation> pending;
  {
    const std::scoped_lock lock(shared->progress->backend_lock());
    pending = shared->backend->start_group(ops);
  }
  Work(make_work(shared, std::move(pending), 0, ops.front())).wait();
}

/// Emulated operations block, so the others must be under way before; collectives keep their order within each part,
/// which is the same on all ranks.
void run_on_host(CommunicatorState& state, std::span<Operation> ops) {
  const spi::Capabilities& has = state.backend->capabilities();
  const auto supported = [&](const Operation& op) { return has.takes(op); };
  const auto middle = std::stable_partition(ops.begin(), ops.end(), supported);
  state.backend->run_group({ops.begin(), middle});
  for (auto op = middle; op != ops.end(); ++op) (void)execute(state, *op, false, Manner::run);
}

void carry_out(const std::shared_ptr<CommunicatorState>& shared, std::span<Operation> ops, bool beside) {
  CommunicatorState& state = *shared;
  const spi::Capabilities& has = state.backend->capabilities();
  check(state, ops);
  if (beside) {
    exchange_beside(shared, ops);
  } else if (std::ranges::none_of(ops, [&](const Operation& op) { return needs_staging(op, has); })) {
    run_on_host(state, ops);
  } else {
    if (state.progress == nullptr) state.progress = std::make_unique<ProgressThread>(state);
    GroupImage image(state.progress->areas(), has, state.size, ops);
    run_on_host(state, ops);
    image.deliver();
  }
}

}  // namespace

void dispatch_group(const std::shared_ptr<CommunicatorState>& shared) {
  CommunicatorState& state = *shared;
  const std::span<Operation> ops = state.collected;
  if (ops.empty()) return;
  const bool beside = goes_beside(state, ops);
  if (!beside) state.finish_staging();
  number(state, ops);
  std::vector<OperationId> ids;
  if (Observer* target = observer()) {
    for (const Operation& op : ops) ids.push_back(announce(state, op, *target));
  }
  // Messages are converted to bytes here: emulated one by one they could wait for each other.
  for (Operation& op : ops) op = as_sent(state, op);
  // The backend sees the group as one: the records that it causes carry the id of its first operation.
  const spi::OperationScope scope(ids.empty() ? 0 : ids.front());
  const auto report = [&](ErrorCode outcome) {
    for (const OperationId id : ids) detail::report_completion(id, outcome);
  };
  try {
    carry_out(shared, ops, beside);
  } catch (const Error& error) {
    report(error.code());
    throw;
  }
  report(ErrorCode::ok);
}

}  // namespace tutti
