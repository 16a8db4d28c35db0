#include "tutti/communicator.hpp"

#include <algorithm>
#include <atomic>

#include "call/communicator_state.hpp"
#include "call/dispatch.hpp"
#include "call/group.hpp"
#include "check/validation.hpp"
#include "handled_error.hpp"
#include "select/create.hpp"
#include "tuning/plan_text.hpp"
#include "tutti/error.hpp"
#include "tutti/group.hpp"
#include "tutti/spi/tensors/named_engine.hpp"

namespace tutti {

namespace {

using Shared = std::shared_ptr<detail::CommunicatorState>;

detail::CommunicatorState& checked(const Shared& state) {
  if (state == nullptr) [[unlikely]] {
    throw Error(ErrorCode::invalid_usage,
                "the communicator is empty: it was default-made, moved from, or left out by split");
  }
  return *state;
}

/// For what cannot be collected in a group: another group, or a new communicator.
detail::CommunicatorState& checked_outside_of_group(const Shared& shared) {
  detail::CommunicatorState& state = checked(shared);
  if (!state.process.is_home()) throw used_in_child(state.name);
  if (state.is(detail::CommunicatorState::kAborted)) {
    throw Error(ErrorCode::aborted, "the communicator " + state.name + " was aborted");
  }
  if (is_grouping()) {
    throw Error(ErrorCode::invalid_usage,
                "a group is open in this thread: it takes operations only, no blocking group(), split or "
                "duplicate (communicator " +
                    state.name + ")");
  }
  return state;
}

Operation make(OpKind kind, int root, const CallOptions& options) noexcept {
  Operation op;
  op.kind = kind;
  op.root = root;
  op.stream = options.stream;
  op.timeout = options.timeout;
  op.label = options.label;
  return op;
}

Operation make(OpKind kind, int root, const ReduceOptions& options) noexcept {
  Operation op;
  op.kind = kind;
  op.root = root;
  op.reduction = options.op;
  op.prescale = options.prescale;
  op.stream = options.stream;
  op.timeout = options.timeout;
  op.label = options.label;
  return op;
}

Work submit(const Shared& state, Operation&& op, const Arguments& arguments, bool async) {
  throwing_errors_only("arguments of a call", [&] { validate(checked(state), arguments, op); });
  return dispatch(state, op, async);
}

/// `count`: elements of a block; for vector operations all blocks are taken to be equal.
Explanation explain_operation(const detail::CommunicatorState& state, OpKind kind, DataType type, Reduction reduction,
                              std::uint64_t count, MemoryKind memory) {
  const std::vector<std::uint64_t> counts(static_cast<std::size_t>(state.size), count);
  Operation op;
  op.kind = kind;
  op.type = type;
  op.reduction = reduction;
  op.count = count;
  op.where.kind = memory;
  op.input_layout.counts = counts.data();
  op.output_layout.counts = counts.data();
  const spi::BackendCommunicator& leaf = state.backend->route(op);
  Explanation answer{leaf.name(), false, state.selection.reason, leaf.settings()};
  if (const auto& plan = state.selection.plan) {
    const PlanQuestion question{kind, type, reduction, message_bytes(op, state.size), memory != MemoryKind::host};
    Explanation planned = explain_choice(*plan, question, state.selection.reason);
    planned.backend = std::move(answer.backend);
    planned.settings = std::move(answer.settings);
    answer = std::move(planned);
  }
  note_emulation(op, leaf.capabilities(), answer);
  if (const auto& placed = state.placement) {
    answer.reason += "; this rank is placed on " + placed->device.name() + " (" + placed->reason + ")";
  }
  return answer;
}

const Buffer kNoOutput;
const ConstBuffer kNoInput;

}  // namespace

Communicator::Communicator(std::shared_ptr<detail::CommunicatorState> state) noexcept
    : state_(std::move(state)), call_(state_.get()) {}

Communicator::Communicator(const Rendezvous& rendezvous, const CommunicatorOptions& options)
    : Communicator(throwing_errors_only("creation of a communicator",
                                        [&] { return create_communicator(rendezvous, options); })) {}

int Communicator::rank() const noexcept { return state_ == nullptr ? -1 : state_->rank; }
int Communicator::size() const noexcept { return state_ == nullptr ? 0 : state_->size; }
std::string_view Communicator::backend() const noexcept {
  return state_ == nullptr ? std::string_view() : std::string_view(state_->backend->name());
}
const Config& Communicator::config() const { return checked(state_).config; }

Work Communicator::allreduce_checked(const ConstBuffer& in, const Buffer& out, const ReduceOptions& options) const {
  return submit(state_, make(OpKind::allreduce, 0, options), {in, out}, options.async);
}
Work Communicator::allreduce(const Buffer& in_out, const ReduceOptions& options) const {
  return allreduce(in_out, in_out, options);
}
Work Communicator::allgather(const ConstBuffer& in, const Buffer& out, const CallOptions& options) const {
  return submit(state_, make(OpKind::allgather, 0, options), {in, out}, options.async);
}
Work Communicator::allgatherv(const ConstBuffer& in, const Buffer& out, const Blocks& out_blocks,
                              const CallOptions& options) const {
  return submit(state_, make(OpKind::allgatherv, 0, options), {in, out, nullptr, &out_blocks}, options.async);
}
Work Communicator::reduce_scatter(const ConstBuffer& in, const Buffer& out, const ReduceOptions& options) const {
  return submit(state_, make(OpKind::reduce_scatter, 0, options), {in, out}, options.async);
}
Work Communicator::reduce_scatterv(const ConstBuffer& in, const Blocks& in_blocks, const Buffer& out,
                                   const ReduceOptions& options) const {
  return submit(state_, make(OpKind::reduce_scatterv, 0, options), {in, out, &in_blocks, nullptr}, options.async);
}
Work Communicator::broadcast(const Buffer& in_out, int root, const CallOptions& options) const {
  return broadcast(in_out, in_out, root, options);
}
Work Communicator::broadcast(const ConstBuffer& in, const Buffer& out, int root, const CallOptions& options) const {
  return submit(state_, make(OpKind::broadcast, root, options), {in, out}, options.async);
}
Work Communicator::reduce(const ConstBuffer& in, const Buffer& out, int root, const ReduceOptions& options) const {
  return submit(state_, make(OpKind::reduce, root, options), {in, out}, options.async);
}
Work Communicator::gather(const ConstBuffer& in, const Buffer& out, int root, const CallOptions& options) const {
  return submit(state_, make(OpKind::gather, root, options), {in, out}, options.async);
}
Work Communicator::gatherv(const ConstBuffer& in, const Buffer& out, const Blocks& out_blocks, int root,
                           const CallOptions& options) const {
  return submit(state_, make(OpKind::gatherv, root, options), {in, out, nullptr, &out_blocks}, options.async);
}
Work Communicator::scatter(const ConstBuffer& in, const Buffer& out, int root, const CallOptions& options) const {
  return submit(state_, make(OpKind::scatter, root, options), {in, out}, options.async);
}
Work Communicator::scatterv(const ConstBuffer& in, const Blocks& in_blocks, const Buffer& out, int root,
                            const CallOptions& options) const {
  return submit(state_, make(OpKind::scatterv, root, options), {in, out, &in_blocks, nullptr}, options.async);
}
Work Communicator::alltoall(const ConstBuffer& in, const Buffer& out, const CallOptions& options) const {
  return submit(state_, make(OpKind::alltoall, 0, options), {in, out}, options.async);
}
Work Communicator::alltoallv(const ConstBuffer& in, const Blocks& in_blocks, const Buffer& out,
                             const Blocks& out_blocks, const CallOptions& options) const {
  return submit(state_, make(OpKind::alltoallv, 0, options), {in, out, &in_blocks, &out_blocks}, options.async);
}
Work Communicator::send(const ConstBuffer& in, int peer, const CallOptions& options) const {
  return submit(state_, make(OpKind::send, peer, options), {in, kNoOutput}, options.async);
}
Work Communicator::recv(const Buffer& out, int peer, const CallOptions& options) const {
  return submit(state_, make(OpKind::recv, peer, options), {kNoInput, out}, options.async);
}
Work Communicator::barrier(const CallOptions& options) const {
  return submit(state_, make(OpKind::barrier, 0, options), {kNoInput, kNoOutput}, options.async);
}

void Communicator::group(const std::function<void()>& body) const {
  (void)checked_outside_of_group(state_);
  tutti::group(body).wait();
}

Communicator Communicator::split(int color, int key, std::string name) const {
  detail::CommunicatorState& state = checked_outside_of_group(state_);
  return throwing_errors_only("split()",
                              [&] { return Communicator(split_communicator(state, color, key, std::move(name))); });
}

Communicator Communicator::duplicate(std::string name) const {
  detail::CommunicatorState& state = checked_outside_of_group(state_);
  return throwing_errors_only("duplicate()", [&] {
    if (name.empty()) name = state.name + "'";
    return Communicator(split_communicator(state, 0, state.rank, std::move(name)));
  });
}

void Communicator::abort() const noexcept {
  if (state_ == nullptr || !state_->process.is_home()) return;
  state_->set(detail::CommunicatorState::kAborted);
  state_->board_entry.fail(ErrorCode::aborted, "abort() was called on this rank");
  state_->backend->abort();
}

spi::NamedEngine& spi::named_engine(const Communicator& communicator) {
  detail::CommunicatorState& state = checked(communicator.state_);
  if (!state.process.is_home()) throw used_in_child(state.name);
  if (NamedEngine* engine = state.backend->engine()) return *engine;
  throw Error(ErrorCode::invalid_usage,
              "the backend " + state.backend->name() + " of the communicator " + state.name +
                  " has no named tensors; choose the backend horovod:" + state.backend->name());
}

Explanation Communicator::explain(OpKind kind, DataType type, Reduction reduction, std::uint64_t count) const {
  return explain_operation(checked(state_), kind, type, reduction, count, MemoryKind::host);
}

Explanation Communicator::explain(OpKind kind, std::uint64_t bytes, DataType type, Reduction reduction,
                                  MemoryKind memory) const {
  const detail::CommunicatorState& state = checked(state_);
  const OpTraits& row = traits(kind);
  const bool several = row.input == Extent::blocks || row.output == Extent::blocks || is_vector(kind);
  const std::uint64_t unit = size_of(type) * (several ? static_cast<std::uint64_t>(state.size) : 1);
  return explain_operation(state, kind, type, reduction, bytes / unit, memory);
}

Placement Communicator::placement(std::string_view module) const {
  detail::CommunicatorState& state = checked(state_);
  state.placement = tutti::placement(state.local_ranks, module, state.config);
  if (state.process.is_home()) state.board_entry.set_device(state.placement->device.name());
  return *state.placement;
}

}  // namespace tutti
