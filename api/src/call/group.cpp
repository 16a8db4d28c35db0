#include "tutti/group.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "call/emulation/emulation.hpp"
#include "call/execution.hpp"
#include "call/group.hpp"
#include "call/self_messages.hpp"
#include "call/work_state.hpp"
#include "check/agreement.hpp"
#include "handled_error.hpp"
#include "staging/group_job.hpp"
#include "staging/staging_rules.hpp"
#include "tutti/error.hpp"
#include "tutti/spi/instrument.hpp"
#include "watch/call_scope.hpp"

namespace tutti {

namespace {

using detail::CommunicatorState;

/// How the operations of a part are carried out.
enum class Way : std::uint8_t {
  start,   ///< by the backend, which takes all of them
  beside,  ///< likewise, while the progress thread uses the backend too
  thread,  ///< by the progress thread: some are staged, or must not block the caller while they are emulated
  here,    ///< by the caller before the start returns: some are emulated
};

/// The operations of one communicator in a group.
struct Part {
  std::shared_ptr<CommunicatorState> communicator;
  std::vector<Operation> ops;
  Way way = Way::start;
  std::vector<OperationId> ids = {};   ///< empty: nobody observes
  std::unique_ptr<GroupJob> job = {};  ///< of Way::thread
  std::vector<SelfMessage> copies = {};
  std::vector<OperationId> copy_ids = {};  ///< of the sends and recvs of `copies`; empty: nobody observes
  std::unique_ptr<detail::CallScope> inside = {};
};

using Collected = std::vector<std::pair<std::shared_ptr<CommunicatorState>, Operation>>;

/// The open group of a thread.
struct OpenGroup {
  int depth = 0;
  Collected collected;
};

OpenGroup& open_group() noexcept {
  thread_local OpenGroup group;
  return group;
}

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

/// The operation that stands for the group among those that others see: the last collective, else the last message.
const Operation& representative(std::span<const Operation> ops) noexcept {
  const auto last = std::find_if(ops.rbegin(), ops.rend(), [](const Operation& op) { return !is_message(op.kind); });
  return last == ops.rend() ? ops.back() : *last;
}

void require_allowed(CommunicatorState& state, std::span<const Operation> ops) {
  if (!state.strict) return;
  for (const Operation& op : ops) {
    const spi::BackendCommunicator& leaf = state.backend->route(op);
    if (!leaf.capabilities().takes(op)) refuse_emulation(state, leaf, op);
    if (is_copied(op, leaf.capabilities())) throw staging_refusal(state, leaf, op);
  }
}

Way way_of(CommunicatorState& state, std::span<const Operation> ops, bool is_alone) {
  if (goes_beside(state, ops)) return Way::beside;
  const auto is_staged = [&](const Operation& op) {
    return needs_staging(op, state.backend->route(op).capabilities());
  };
  const auto is_supported = [&](const Operation& op) { return state.backend->route(op).capabilities().takes(op); };
  if (std::ranges::any_of(ops, is_staged)) return Way::thread;
  if (std::ranges::all_of(ops, is_supported)) return Way::start;
  return is_alone ? Way::here : Way::thread;
}

void report(const Part& part, ErrorCode outcome) {
  for (const OperationId id : part.ids) detail::report_completion(id, outcome);
  for (const OperationId id : part.copy_ids) detail::report_completion(id, outcome);
}

/// Groups of the process so far.
std::atomic<std::uint64_t> next_group{1};

void prepare_copies(Part& part, std::uint64_t group) {
  CommunicatorState& state = *part.communicator;
  for (SelfMessage& message : part.copies) {
    for (Operation* op : {&message.send, &message.recv}) {
      number(state, {op, 1});
      if (Observer* target = observer())
        part.copy_ids.push_back(announce(state, state.backend->route(*op), *op, *target, true, group));
    }
  }
}

/// Decides how a part is carried out and takes the memory that this needs.
void prepare(Part& part, bool is_alone, std::uint64_t group) {
  CommunicatorState& state = *part.communicator;
  const std::span<Operation> ops = part.ops;
  if (state.is(CommunicatorState::kAborted)) fail_aborted(state, ops.empty() ? part.copies.front().send : ops.front());
  prepare_copies(part, group);
  if (ops.empty()) return;
  number(state, ops);
  part.inside =
      std::make_unique<detail::CallScope>(*state.call_progress, representative(ops), spi::CallProgress::kGroup);
  if (state.comparison != nullptr) {
    for (const Operation& op : ops) state.comparison->enter(op);
  }
  if (Observer* target = observer()) {
    for (const Operation& op : ops)
      part.ids.push_back(announce(state, state.backend->route(op), op, *target, true, group));
  }
  // Messages are converted to bytes here: emulated one by one they could wait for each other.
  for (Operation& op : ops) op = as_sent(state, state.backend->route(op), op);
  require_allowed(state, ops);
  part.way = way_of(state, ops, is_alone);
  if (part.way != Way::thread) return;
  if (state.progress == nullptr) state.progress = std::make_unique<ProgressThread>(state);
  state.set(CommunicatorState::kStaging);
  part.job = state.progress->prepare_group(ops);
}

std::unique_ptr<spi::PendingOperation> start_pending(Part& part) {
  CommunicatorState& state = *part.communicator;
  const std::span<Operation> ops = part.ops;
  if (part.way == Way::thread) return state.progress->start_group(ops, part.ids, std::move(part.job));
  if (part.way == Way::beside) {
    const std::scoped_lock lock(state.progress->backend_lock());
    return state.backend->start_group(ops);
  }
  state.finish_staging();
  if (state.is(CommunicatorState::kCheck)) {
    for (const Operation& op : ops) check_agreement(state, agreement_leaf(state), op);
  }
  if (part.way == Way::start) return state.backend->start_group(ops);
  run_group_on_host(
      state, *state.backend, ops, [](spi::BackendCommunicator & leaf) -> auto& { return leaf; });
  return nullptr;
}

bool is_stream_ordered(std::span<const Operation> ops) {
  return std::ranges::none_of(ops, [](const Operation& op) { return op.stream.is_host(); });
}

/// Starts the operations of a part; null when they are complete.
std::unique_ptr<detail::OperationWork> start(Part& part) {
  // The backend sees the group as one: the records that it causes carry the id of its first operation.
  const spi::OperationScope scope(part.ids.empty() ? 0 : part.ids.front());
  std::unique_ptr<spi::PendingOperation> pending = start_pending(part);
  std::vector<OperationId> ids = std::exchange(part.ids, {});
  if (pending == nullptr) {
    for (const OperationId id : ids) detail::report_completion(id, ErrorCode::ok);
    return nullptr;
  }
  using detail::FinishedBy;
  const FinishedBy by = is_stream_ordered(part.ops) ? FinishedBy::stream
                        : part.way == Way::thread   ? FinishedBy::communicator
                                                    : FinishedBy::caller;
  // The progress thread reports the end itself.
  if (part.way == Way::thread) ids.clear();
  return std::make_unique<detail::OperationWork>(part.communicator, std::move(pending), std::move(ids), by);
}

std::vector<Part> parts_of(const Collected& collected) {
  std::vector<Part> parts;
  for (const auto& [communicator, op] : collected) {
    auto part = std::ranges::find(parts, communicator, &Part::communicator);
    if (part == parts.end()) {
      parts.emplace_back().communicator = communicator;
      part = std::prev(parts.end());
    }
    part->ops.push_back(op);
  }
  return parts;
}

using Works = std::vector<std::unique_ptr<detail::OperationWork>>;

void start_copies(Part& part, Works& works) {
  std::vector<OperationId> ids = std::exchange(part.copy_ids, {});
  for (std::size_t i = 0; i < part.copies.size(); ++i) {
    std::vector<OperationId> both;
    if (!ids.empty()) both = {ids[2 * i], ids[2 * i + 1]};
    const spi::OperationScope scope(both.empty() ? 0 : both.front());
    std::unique_ptr<spi::PendingOperation> pending = start_copy(part.copies[i]);
    if (pending == nullptr) {
      for (const OperationId id : both) detail::report_completion(id, ErrorCode::ok);
      continue;
    }
    const auto by = part.copies[i].send.stream.is_host() ? detail::FinishedBy::caller : detail::FinishedBy::stream;
    works.push_back(
        std::make_unique<detail::OperationWork>(part.communicator, std::move(pending), std::move(both), by));
  }
}

/// After an error in the middle of a start: the operations that are pending already end with their communicators, which
/// the caller has to give up; the other ranks are not left waiting.
void abandon(const std::vector<Part>& parts) noexcept {
  if (parts.size() == 1) return;
  for (const Part& part : parts) part.communicator->backend->abort();
}

Work start_parts(std::vector<Part> parts) {
  Works works;
  try {
    for (Part& part : parts) part.copies = take_self_messages(*part.communicator, part.ops);
    const std::uint64_t group = observer() != nullptr ? next_group.fetch_add(1, std::memory_order_relaxed) : 0;
    for (Part& part : parts) prepare(part, parts.size() == 1, group);
    for (Part& part : parts) start_copies(part, works);
    for (Part& part : parts) {
      if (part.ops.empty()) continue;
      if (auto work = start(part)) works.push_back(std::move(work));
    }
  } catch (const Error& error) {
    for (const Part& part : parts) {
      part.communicator->note_failure(error);
      report(part, error.code());
    }
    if (!works.empty() || spi::ends_communicator(error.code())) abandon(parts);
    if (parts.size() > 1) throw;
    throw Error(parts.front().communicator->completed(error));
  } catch (...) {
    // Out of memory, for example: the other ranks wait for operations that this one does not start.
    for (const Part& part : parts) {
      report(part, ErrorCode::system);
      part.communicator->backend->abort();
    }
    throw handled_error("the start of a group");
  }
  if (works.empty()) return {};
  if (works.size() == 1) return Work(std::move(works.front()));
  return Work(std::make_unique<detail::GroupWork>(std::move(works)));
}

}  // namespace

bool is_grouping() noexcept { return detail::attention.load(std::memory_order_relaxed) != 0 && open_group().depth > 0; }

void collect(const std::shared_ptr<CommunicatorState>& communicator, const Operation& operation) {
  try {
    open_group().collected.emplace_back(communicator, operation);
  } catch (...) {
    // Out of memory: the group would go on without this operation, for which the other ranks wait.
    communicator->backend->abort();
    throw;
  }
}

GroupScope::GroupScope() : first_(open_group().collected.size()) {
  ++open_group().depth;
  detail::attention.fetch_add(1, std::memory_order_relaxed);
}

GroupScope::~GroupScope() {
  if (!is_open_) return;
  OpenGroup& group = open_group();
  --group.depth;
  detail::attention.fetch_sub(1, std::memory_order_relaxed);
  group.collected.resize(first_);
}

Work GroupScope::end() {
  OpenGroup& group = open_group();
  is_open_ = false;
  detail::attention.fetch_sub(1, std::memory_order_relaxed);
  if (--group.depth > 0) return {};
  const Collected collected = std::exchange(group.collected, {});
  std::vector<Part> parts;
  try {
    parts = parts_of(collected);
  } catch (...) {
    for (const auto& [communicator, op] : collected) communicator->backend->abort();
    throw handled_error("the end of a group");
  }
  return start_parts(std::move(parts));
}

Work group(const std::function<void()>& body) {
  GroupScope scope;
  body();
  return scope.end();
}

}  // namespace tutti
