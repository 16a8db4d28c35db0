#include "channel/ccl_cpp_channel.hpp"

#include <algorithm>
#include <numeric>

#include "ccl_types.hpp"
#include "tutti/error.hpp"

namespace tutti::ccl {
namespace {

constexpr const char* kMaking = "creating a communicator";

const std::byte* at(const void* base, std::uint64_t bytes) { return static_cast<const std::byte*>(base) + bytes; }
std::byte* at(void* base, std::uint64_t bytes) { return static_cast<std::byte*>(base) + bytes; }

std::uint64_t first_block(const BlockLayout& layout) {
  return layout.displacements != nullptr ? layout.displacements[0] : 0;
}

std::uint64_t total(const BlockLayout& layout, std::size_t ranks) {
  return std::accumulate(layout.counts, layout.counts + ranks, std::uint64_t{0});
}

/// Whether each block begins where the one before it ends.
bool is_packed(const BlockLayout& layout, std::size_t ranks) {
  if (layout.displacements == nullptr) return true;
  for (std::size_t rank = 1; rank < ranks; ++rank) {
    if (layout.displacements[rank] != layout.displacements[rank - 1] + layout.counts[rank - 1]) return false;
  }
  return true;
}

}  // namespace

CppChannel::CppChannel(const Api& api, CreationLock& creation_lock, const Rendezvous& rendezvous)
    : Channel(rendezvous),
      api_(api),
      nothing_(static_cast<std::size_t>(size())),
      only_(nothing_.size()),
      equal_(nothing_.size()) {
  meet(creation_lock, rendezvous, [&](Kvs* kvs) { return api.create_communicator(size(), rank(), kvs, &handle_); });
}

CppChannel::CppChannel(const Api& api, CreationLock& creation_lock, const Rendezvous& rendezvous,
                       const QueueBridge& queues, const Workspace& workspace)
    : Channel(rendezvous),
      api_(api),
      nothing_(static_cast<std::size_t>(size())),
      only_(nothing_.size()),
      equal_(nothing_.size()),
      queues_(&queues) {
  void* const queue = workspace.stream().native();
  meet(creation_lock, rendezvous,
       [&](Kvs* kvs) { return api.create_on_queue(&queues, size(), rank(), kvs, queue, &handle_); });
}

template <typename Make>
void CppChannel::meet(CreationLock& creation_lock, const Rendezvous& rendezvous, const Make& make) {
  Kvs* kvs = nullptr;
  const auto identify = [&] {
    std::string made(kAddressBytes, '\0');
    check(api_, api_.create_main_kvs(&kvs, made.data()), kMaking);
    return made;
  };
  const auto join = [&](const std::string& address) {
    if (rank() != 0) check(api_, api_.create_kvs(address.c_str(), &kvs), kMaking);
    check(api_, make(kvs), kMaking);
  };
  Channel::meet(creation_lock, rendezvous, {.interface = "C++", .identify = identify, .join = join});
}

CppChannel::~CppChannel() { (void)api_.destroy_communicator(handle_); }

void CppChannel::do_carry_out(const Operation& operation, Workspace& workspace) {
  start(operation, workspace, api_.wait);
  workspace.settle();
}

void CppChannel::do_enqueue(const Operation& operation, Workspace& workspace) {
  start(operation, workspace, api_.release);
}

template <typename Finish>
void CppChannel::start(const Operation& operation, Workspace& workspace, const Finish& finish) {
  use(workspace);
  Event event;
  int code = issue(operation, &event);
  if (code == 0) code = finish(&event);
  if (code != 0) [[unlikely]]
    fail(operation, code);
  if (unpacking_.base != nullptr) unpack();
}

void CppChannel::use(Workspace& workspace) {
  workspace_ = &workspace;
  if (queues_ == nullptr || bound_ == workspace.number()) return;
  check(api_, api_.bind_queue(queues_, handle_, workspace.stream().native()), "binding a SYCL queue");
  bound_ = workspace.number();
}

void CppChannel::fail(const Operation& operation, int code) {
  unpacking_ = {};
  throw Error(code_of(api_.error()), where(operation, rank(), size()) + ": " + api_.error(), "ccl", code);
}

int CppChannel::issue(const Operation& op, Event* event) {
  const int type = datatype(op.type);
  const std::size_t width = size_of(op.type);
  switch (op.kind) {
    case OpKind::allreduce:
      return api_.allreduce(handle_, op.input, op.output, op.count, type, reduction(op.reduction), event);
    case OpKind::allgather:
      return api_.allgather(handle_, op.input, op.output, op.count, type, event);
    case OpKind::allgatherv:
      // Given the address of each block, oneCCL would return only when the operation is complete; see Turns.
      return api_.allgatherv(handle_, op.input, op.count, receive(op.output_layout, op.output, width),
                             op.output_layout.counts, type, event);
    case OpKind::reduce_scatter:
      return api_.reduce_scatter(handle_, op.input, op.output, op.count, type, reduction(op.reduction), event);
    case OpKind::broadcast: {
      void* buffer = op.output;
      if (rank() == op.root) {
        if (op.output != nullptr && op.output != op.input) workspace_->copy(op.output, op.input, op.block_bytes());
        buffer = const_cast<void*>(op.input);
      }
      return api_.broadcast(handle_, buffer, op.count, type, op.root, event);
    }
    case OpKind::reduce: {
      // oneCCL needs memory for the result on all ranks.
      void* const output = rank() == op.root ? op.output : workspace_->output(op.block_bytes());
      return api_.reduce(handle_, op.input, output, op.count, type, reduction(op.reduction), op.root, event);
    }
    case OpKind::gather:
    case OpKind::gatherv:
      return issue_gather(op, event);
    case OpKind::scatter:
    case OpKind::scatterv:
      return issue_scatter(op, event);
    case OpKind::alltoall:
      return api_.alltoall(handle_, op.input, op.output, op.count, type, event);
    case OpKind::alltoallv:
      return exchange(op, packed(op.input_layout, op.input, width), op.input_layout.counts,
                      receive(op.output_layout, op.output, width), op.output_layout.counts, event);
    // Messages use a channel of two ranks, of which rank 0 is the sender.
    case OpKind::send:
      return api_.broadcast(handle_, const_cast<void*>(op.input), op.count, type, 0, event);
    case OpKind::recv:
      return api_.broadcast(handle_, op.output, op.count, type, 0, event);
    case OpKind::reduce_scatterv:  // not among the capabilities
    case OpKind::barrier:
      break;
  }
  return api_.barrier(handle_, event);
}

// oneCCL has neither gather nor scatter: each is an alltoallv in which most counts are 0.
int CppChannel::issue_gather(const Operation& op, Event* event) {
  const std::size_t width = size_of(op.type);
  if (rank() != op.root) return exchange(op, op.input, only(op.root, op.count), nullptr, nothing_.data(), event);
  const BlockLayout layout = layout_or_equal(op.output_layout, op.count);
  void* const output = receive(layout, op.output, width);
  const void* input = op.input;
  if (input == output && op.count != 0) {  // oneCCL would take it for an in-place alltoallv
    input = workspace_->input(op.block_bytes());
    workspace_->copy(workspace_->input(op.block_bytes()), op.input, op.block_bytes());
  }
  return exchange(op, input, only(rank(), op.count), output, layout.counts, event);
}

int CppChannel::issue_scatter(const Operation& op, Event* event) {
  const std::size_t width = size_of(op.type);
  if (rank() != op.root) return exchange(op, nullptr, nothing_.data(), op.output, only(op.root, op.count), event);
  const BlockLayout layout = layout_or_equal(op.input_layout, op.count);
  const void* const input = packed(layout, op.input, width);
  // The root's own block is already in its place, but see issue_gather().
  void* const output = op.output == input ? workspace_->output(op.block_bytes()) : op.output;
  return exchange(op, input, layout.counts, output, only(rank(), op.count), event);
}

int CppChannel::exchange(const Operation& op, const void* in, const std::uint64_t* in_counts, void* out,
                         const std::uint64_t* out_counts, Event* event) {
  // oneCCL refuses null even if nothing is sent or received.
  if (in == nullptr) in = workspace_->input(1);
  if (out == nullptr) out = workspace_->output(1);
  return api_.alltoallv(handle_, in, in_counts, out, out_counts, datatype(op.type), event);
}

const std::uint64_t* CppChannel::only(int peer, std::uint64_t count) {
  std::fill(only_.begin(), only_.end(), 0);
  only_[static_cast<std::size_t>(peer)] = count;
  return only_.data();
}

BlockLayout CppChannel::layout_or_equal(const BlockLayout& layout, std::uint64_t count) {
  if (layout.counts != nullptr) return layout;
  std::fill(equal_.begin(), equal_.end(), count);
  return {equal_.data(), nullptr};
}

const void* CppChannel::packed(const BlockLayout& layout, const void* base, std::size_t width) {
  const std::size_t ranks = nothing_.size();
  if (is_packed(layout, ranks)) return at(base, first_block(layout) * width);
  std::byte* const to = workspace_->input(total(layout, ranks) * width);
  std::uint64_t begin = 0;
  for (std::size_t rank = 0; rank < ranks; begin += layout.counts[rank], ++rank) {
    workspace_->copy(to + begin * width, at(base, layout.displacements[rank] * width), layout.counts[rank] * width);
  }
  return to;
}

void* CppChannel::receive(const BlockLayout& layout, void* base, std::size_t width) {
  const std::size_t ranks = nothing_.size();
  if (is_packed(layout, ranks)) return at(base, first_block(layout) * width);
  std::byte* const to = workspace_->output(total(layout, ranks) * width);
  unpacking_ = {layout, base, width};  // only after output(), which may throw
  return to;
}

void CppChannel::unpack() {
  const auto [layout, base, width] = unpacking_;
  unpacking_ = {};
  std::uint64_t begin = 0;
  for (std::size_t rank = 0; rank < nothing_.size(); begin += layout.counts[rank], ++rank) {
    workspace_->copy(at(base, layout.displacements[rank] * width), workspace_->output(0) + begin * width,
                     layout.counts[rank] * width);
  }
}

}  // namespace tutti::ccl
