#include "tutti/communicator.hpp"

#include <algorithm>
#include <atomic>

#include "communicator_state.hpp"
#include "create.hpp"
#include "dispatch.hpp"
#include "emulation.hpp"
#include "tutti/error.hpp"
#include "tutti/observer.hpp"
#include "validation.hpp"

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

Operation make(OpKind kind, int root, const CallOptions& options) noexcept {
  Operation op;
  op.kind = kind;
  op.root = root;
  op.stream = options.stream;
  op.timeout = options.timeout;
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
  return op;
}

Work submit(const Shared& state, Operation&& op, const Arguments& arguments, bool async) {
  validate(checked(state), arguments, op);
  return dispatch(state, op, async);
}

const Buffer kNoOutput;
const ConstBuffer kNoInput;

/// The call programs make most, in the case that is nearly always true: correct buffers in host memory, blocking,
/// nobody observes, the backend has it. Everything here is also checked by validate() and dispatch(), which take all
/// other cases.
bool is_plain_allreduce(const detail::CommunicatorState& state, const ConstBuffer& in, const Buffer& out,
                        const ReduceOptions& options) noexcept {
  const auto* input = static_cast<const std::byte*>(in.data);
  const auto* output = static_cast<const std::byte*>(out.data);
  const std::uint64_t bytes = in.count * size_of(in.type);
  return state.special.load(std::memory_order_relaxed) == 0 && observer() == nullptr && in.count == out.count &&
         in.type == out.type && in.where.kind == MemoryKind::host && out.where.kind == MemoryKind::host &&
         input != nullptr && output != nullptr &&
         (input == output || input + bytes <= output || output + bytes <= input) &&
         in.count < (std::uint64_t{1} << 60) && !options.async && options.prescale == 1.0 && options.stream.is_host() &&
         state.backend->capabilities().has(OpKind::allreduce) && state.backend->capabilities().has(options.op, in.type);
}

}  // namespace

Communicator::Communicator(const Rendezvous& rendezvous, const CommunicatorOptions& options)
    : state_(create_communicator(rendezvous, options)) {}

int Communicator::rank() const noexcept { return state_ == nullptr ? -1 : state_->rank; }
int Communicator::size() const noexcept { return state_ == nullptr ? 0 : state_->size; }
std::string_view Communicator::backend() const noexcept {
  return state_ == nullptr ? std::string_view() : state_->selection.module->name;
}
const Config& Communicator::config() const { return checked(state_).config; }

Work Communicator::allreduce(const ConstBuffer& in, const Buffer& out, const ReduceOptions& options) const {
  if (state_ != nullptr && is_plain_allreduce(*state_, in, out, options)) [[likely]] {
    detail::CommunicatorState& state = *state_;
    Operation op;
    op.kind = OpKind::allreduce;
    op.type = in.type;
    op.reduction = options.op;
    op.count = in.count;
    op.input = in.data;
    op.output = out.data;
    op.timeout = options.timeout.count() != 0 ? options.timeout : state.timeout;
    op.sequence = ++state.sequence;
    state.backend->run(op);
    return {};
  }
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
  using detail::CommunicatorState;
  CommunicatorState& state = checked(state_);
  if (state.is(CommunicatorState::kGrouping)) {
    throw Error(ErrorCode::invalid_usage,
                "a group on communicator " + state.name + " is open already: groups do not nest");
  }
  struct Open {
    explicit Open(CommunicatorState& communicator) : state(communicator) { state.set(CommunicatorState::kGrouping); }
    ~Open() {
      state.clear(CommunicatorState::kGrouping);
      state.collected.clear();
    }
    CommunicatorState& state;
  } open(state);
  body();
  state.clear(CommunicatorState::kGrouping);
  dispatch_group(state);
}

Communicator Communicator::split(int color, int key, std::string name) const {
  detail::CommunicatorState& state = checked(state_);
  return Communicator(split_communicator(state, color, key, std::move(name)));
}

Communicator Communicator::duplicate(std::string name) const {
  detail::CommunicatorState& state = checked(state_);
  return Communicator(split_communicator(state, 0, state.rank, name.empty() ? state.name + "'" : std::move(name)));
}

void Communicator::abort() const noexcept {
  if (state_ == nullptr) return;
  state_->set(detail::CommunicatorState::kAborted);
  state_->backend->abort();
}

Explanation Communicator::explain(OpKind kind, DataType type, Reduction reduction) const {
  const detail::CommunicatorState& state = checked(state_);
  Operation op;
  op.kind = kind;
  op.type = type;
  op.reduction = reduction;
  const spi::Capabilities& has = state.backend->capabilities();
  Explanation explanation{std::string(state.selection.module->name), false, state.selection.reason};
  if (has.takes(op)) return explanation;
  explanation.emulated = true;
  const std::string method = Emulator::method(op, has);
  explanation.reason += method.empty() ? "; it cannot do this, nor can it be emulated" : "; emulated by " + method;
  return explanation;
}

}  // namespace tutti
