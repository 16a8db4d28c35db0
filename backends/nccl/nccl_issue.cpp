// Maps operations to NCCL calls. Operations that only move data are passed as bytes, because NCCL lacks some types.
#include <nccl.h>

#include <cstddef>
#include <cstdint>

#include "nccl_channel.hpp"
#include "nccl_types.hpp"
#include "tutti/types/float8.hpp"
#include "tutti/types/half.hpp"

namespace tutti::nccl {
namespace {

const std::byte* at(const void* base, std::uint64_t bytes) noexcept {
  return static_cast<const std::byte*>(base) + bytes;
}
std::byte* at(void* base, std::uint64_t bytes) noexcept { return static_cast<std::byte*>(base) + bytes; }

cudaStream_t stream_of(const Operation& op) noexcept { return static_cast<cudaStream_t>(op.stream.native()); }

/// Iterates over the blocks of one buffer, in rank order.
class BlockWalk {
 public:
  BlockWalk(const Operation& op, Extent extent, const BlockLayout& layout) noexcept
      : op_(op), extent_(extent), layout_(layout), width_(size_of(op.type)) {}

  struct Block {
    std::uint64_t at;
    std::uint64_t bytes;
  };
  /// Call for rank 0, 1, ... in this order.
  [[nodiscard]] Block next(int rank) noexcept {
    if (extent_ == Extent::block) return {0, op_.block_bytes()};
    const std::uint64_t bytes = extent_ == Extent::blocks ? op_.block_bytes() : layout_.counts[rank] * width_;
    const bool is_placed = extent_ == Extent::vector && layout_.displacements != nullptr;
    const std::uint64_t begin = is_placed ? layout_.displacements[rank] * width_ : packed_;
    packed_ += bytes;
    return {begin, bytes};
  }

 private:
  const Operation& op_;
  Extent extent_;
  const BlockLayout& layout_;
  std::uint64_t width_;
  std::uint64_t packed_ = 0;
};

}  // namespace

ncclResult_t Channel::issue(const Operation& op) {
  if (op.kind == OpKind::barrier) return issue_barrier(op);
  // The count is equal on all ranks, so all of them return here.
  if (op.count == 0 && !is_vector(op.kind)) return ncclSuccess;
  switch (op.kind) {
    case OpKind::allreduce:
    case OpKind::reduce:
    case OpKind::reduce_scatter:
      return issue_reduction(op);
    case OpKind::reduce_scatterv:
      return issue_reduce_scatterv(op);
    case OpKind::allgather:
      return api_.all_gather(op.input, op.output, op.block_bytes(), ncclUint8, comm_, stream_of(op));
    case OpKind::allgatherv:
      return issue_allgatherv(op);
    case OpKind::broadcast:
      return issue_broadcast(op);
    case OpKind::send:
      return api_.send(op.input, op.block_bytes(), ncclUint8, op.root, comm_, stream_of(op));
    case OpKind::recv:
      return api_.recv(op.output, op.block_bytes(), ncclUint8, op.root, comm_, stream_of(op));
    default:
      return issue_exchange(op);
  }
}

ncclResult_t Channel::end_group(ncclResult_t result) {
  const ncclResult_t ended = api_.group_end();
  return is_failure(result) ? result : ended;
}

ncclResult_t Channel::issue_barrier(const Operation& op) {
  std::byte* const data = barrier_block_->data();
  return api_.all_reduce(data, data, 1, ncclUint8, ncclSum, comm_, stream_of(op));
}

ncclResult_t Channel::issue_reduction(const Operation& op) {
  const ncclDataType_t type = *datatype(op.type);
  ncclRedOp_t how = *reduction(op.reduction);
  if (op.prescale != 1.0) {
    const ncclResult_t result = make_scaled_sum(op, &how);
    if (is_failure(result)) return result;
  }
  const cudaStream_t stream = stream_of(op);
  if (op.kind == OpKind::allreduce) return api_.all_reduce(op.input, op.output, op.count, type, how, comm_, stream);
  if (op.kind == OpKind::reduce) return api_.reduce(op.input, op.output, op.count, type, how, op.root, comm_, stream);
  return api_.reduce_scatter(op.input, op.output, op.count, type, how, comm_, stream);
}

// Each block is a reduction to its rank, in one group.
ncclResult_t Channel::issue_reduce_scatterv(const Operation& op) {
  const ncclDataType_t type = *datatype(op.type);
  ncclRedOp_t how = *reduction(op.reduction);
  if (op.prescale != 1.0) {
    const ncclResult_t made = make_scaled_sum(op, &how);
    if (is_failure(made)) return made;
  }
  ncclResult_t result = api_.group_start();
  if (is_failure(result)) return result;
  BlockWalk blocks(op, Extent::vector, op.input_layout);
  for (int rank = 0; rank < size_ && !is_failure(result); ++rank) {
    const auto [begin, bytes] = blocks.next(rank);
    if (bytes == 0) continue;
    const std::byte* const input = at(op.input, begin);
    void* const output = rank == rank_ ? op.output : nullptr;
    result = api_.reduce(input, output, bytes / size_of(op.type), type, how, rank, comm_, stream_of(op));
  }
  return end_group(result);
}

ncclResult_t Channel::make_scaled_sum(const Operation& op, ncclRedOp_t* made) {
  // NCCL's own average also multiplies by such a factor.
  const double factor = op.reduction == Reduction::average ? op.prescale / size_ : op.prescale;
  double as_float64 = factor;
  auto as_float32 = static_cast<float>(factor);
  auto as_float16 = static_cast<float16>(as_float32);
  auto as_bfloat16 = static_cast<bfloat16>(as_float32);
  auto as_e4m3 = static_cast<float8_e4m3>(as_float32);
  auto as_e5m2 = static_cast<float8_e5m2>(as_float32);
  void* scalar = &as_float64;
  if (op.type == DataType::float32) scalar = &as_float32;
  if (op.type == DataType::float16) scalar = &as_float16;
  if (op.type == DataType::bfloat16) scalar = &as_bfloat16;
  if (op.type == DataType::float8_e4m3) scalar = &as_e4m3;
  if (op.type == DataType::float8_e5m2) scalar = &as_e5m2;
  const ncclResult_t result =
      api_.red_op_create_pre_mul_sum(made, scalar, *datatype(op.type), ncclScalarHostImmediate, comm_);
  if (!is_failure(result)) scaled_sums_.push_back(*made);
  return result;
}

ncclResult_t Channel::issue_broadcast(const Operation& op) {
  // The root may have no output.
  void* const output = op.output != nullptr ? op.output : const_cast<void*>(op.input);
  const void* const input = rank_ == op.root ? op.input : output;
  return api_.broadcast(input, output, op.block_bytes(), ncclUint8, op.root, comm_, stream_of(op));
}

// Blocks differ in length, so each is a broadcast of its own, in one group.
ncclResult_t Channel::issue_allgatherv(const Operation& op) {
  ncclResult_t result = api_.group_start();
  if (is_failure(result)) return result;
  BlockWalk blocks(op, Extent::vector, op.output_layout);
  for (int rank = 0; rank < size_ && !is_failure(result); ++rank) {
    const auto [begin, bytes] = blocks.next(rank);
    if (bytes == 0) continue;
    std::byte* const output = at(op.output, begin);
    const void* const input = rank == rank_ ? op.input : output;
    result = api_.broadcast(input, output, bytes, ncclUint8, rank, comm_, stream_of(op));
  }
  return end_group(result);
}

// gather, scatter, alltoall and their vector forms: messages between pairs of ranks, in one group.
ncclResult_t Channel::issue_exchange(const Operation& op) {
  const OpTraits& traits = op.traits();
  ncclResult_t result = api_.group_start();
  if (is_failure(result)) return result;
  BlockWalk sent(op, traits.input, op.input_layout);
  BlockWalk received(op, traits.output, op.output_layout);
  // In a gather all send to the root only, in a scatter all receive from it only.
  const bool gathers = traits.output_root_only;
  const bool scatters = traits.input_root_only;
  for (int peer = 0; peer < size_ && !is_failure(result); ++peer) {
    const bool sends = op.input != nullptr && (!gathers || peer == op.root) && (!scatters || rank_ == op.root);
    const bool receives = op.output != nullptr && (!scatters || peer == op.root) && (!gathers || rank_ == op.root);
    const auto [from, sent_bytes] = sends ? sent.next(peer) : BlockWalk::Block{0, 0};
    const auto [to, received_bytes] = receives ? received.next(peer) : BlockWalk::Block{0, 0};
    // In place: this rank's own block is already where it belongs.
    if (peer == rank_ && sends && receives && at(op.input, from) == at(op.output, to)) continue;
    if (sent_bytes != 0) {
      result = api_.send(at(op.input, from), sent_bytes, ncclUint8, peer, comm_, stream_of(op));
    }
    if (received_bytes != 0 && !is_failure(result)) {
      result = api_.recv(at(op.output, to), received_bytes, ncclUint8, peer, comm_, stream_of(op));
    }
  }
  return end_group(result);
}

}  // namespace tutti::nccl
