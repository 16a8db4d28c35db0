#include "algorithms/flat.hpp"

#include <algorithm>

#include "algorithms/blocks.hpp"
#include "algorithms/reduce_pipeline.hpp"
#include "algorithms/shares.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::native {
namespace {

// Every rank reads and combines the data of all ranks: beyond this size the pipeline, which combines each element once,
// is faster.
constexpr std::uint64_t kLargestFlatReduction = 4U << 10;

// Moves of two ranks beyond these sizes are faster through the rings: a mailbox is used again by the next collective
// but one, while its lines are still in the private caches of both cores. With more ranks a mailbox saves handshakes.
constexpr std::uint64_t kLargestFlatMove = 8U << 10;
constexpr std::uint64_t kLargestFlatGathering = 2U << 10;

// The most that a rank may put into its mailbox.
std::uint64_t room(const Geometry& geometry, OpKind kind) noexcept {
  const std::uint64_t whole = geometry.mailbox_bytes;
  if (traits(kind).reduces) return std::min(whole, kLargestFlatReduction);
  if (geometry.ranks != 2) return whole;
  const bool gathers = kind == OpKind::allgather || kind == OpKind::allgatherv || kind == OpKind::gather;
  return std::min(whole, gathers ? kLargestFlatGathering : kLargestFlatMove);
}

// Bytes that a contributing rank puts into its mailbox.
std::uint64_t mailbox_bytes(const Operation& operation, int ranks) noexcept {
  const bool has_blocks = operation.traits().input == Extent::blocks || operation.kind == OpKind::reduce_scatterv;
  return has_blocks ? Shares::blocks(operation, ranks).total() * size_of(operation.type) : operation.block_bytes();
}

bool is_root(const Channels& channels, const Operation& operation) noexcept {
  return channels.rank() == operation.root;
}

bool contributes(const Channels& channels, const Operation& operation) noexcept {
  return !operation.traits().input_root_only || is_root(channels, operation);
}

bool takes(const Channels& channels, const Operation& operation) noexcept {
  return !operation.traits().output_root_only || is_root(channels, operation);
}

}  // namespace

bool Flat::fits(const Geometry& geometry, const Operation& operation) noexcept {
  const auto ranks = static_cast<int>(geometry.ranks);
  switch (operation.kind) {
    case OpKind::gatherv:
    case OpKind::scatterv:
    case OpKind::alltoallv:
      return false;  // only the root, or the pair, knows the lengths
    case OpKind::allgatherv: {
      if (ranks == 1) return true;
      const std::uint64_t* counts = operation.output_layout.counts;
      const std::uint64_t longest = *std::max_element(counts, counts + ranks);
      return longest <= room(geometry, operation.kind) / size_of(operation.type);
    }
    default:
      break;
  }
  if (ranks == 1) return true;
  const std::uint64_t most = room(geometry, operation.kind);
  // Compared by count first: the product may not fit 64 bits.
  return operation.count <= most && mailbox_bytes(operation, ranks) <= most;
}

Flat::Flat(Channels& channels, const Operation& operation, const Meeting& meeting)
    : channels_(channels), operation_(operation), meeting_(meeting) {
  const bool alone = channels.size() == 1;
  if (alone || !contributes(channels, operation) || operation.kind == OpKind::barrier)
    meeting_.enter(nullptr, 0);
  else
    meeting_.enter(operation.input, mailbox_bytes(operation, channels.size()));
}

int Flat::waits_for() const noexcept {
  return operation_.traits().input_root_only && !is_root(channels_, operation_) ? operation_.root : meeting_.missing();
}

StepResult Flat::step() {
  if (operation_.traits().input_root_only) {
    if (!is_root(channels_, operation_) && !meeting_.meet(operation_.root)) return StepResult::blocked;
  } else if (takes(channels_, operation_)) {
    if (!meeting_.meet_all()) return StepResult::blocked;
  }
  if (takes(channels_, operation_) && operation_.kind != OpKind::barrier) finish();
  return StepResult::done;
}

void Flat::finish() {
  if (operation_.traits().reduces)
    reduce();
  else
    copy_blocks();
}

void Flat::reduce() {
  const int ranks = channels_.size();
  const std::uint64_t bytes = mailbox_bytes(operation_, ranks);
  const std::uint64_t offset =
      scatters_result(operation_.kind)
          ? Shares::blocks(operation_, ranks).begin(channels_.rank()) * size_of(operation_.type)
          : 0;
  const void** inputs = channels_.inputs();
  for (int r = 0; r < ranks; ++r) {
    const auto* data =
        r == channels_.rank() ? static_cast<const std::byte*>(operation_.input) : meeting_.data(r, bytes);
    inputs[r] = data + offset;
  }
  void* output = operation_.output;
  spi::reduce_kernel(operation_.reduction, operation_.type)(&output, 1, inputs, ranks, operation_.count,
                                                            reduce_tuning(operation_, ranks));
}

void Flat::copy_blocks() {
  const int ranks = channels_.size();
  const int rank = channels_.rank();
  const auto* input = static_cast<const std::byte*>(operation_.input);
  auto* output = static_cast<std::byte*>(operation_.output);
  const std::uint64_t block = operation_.block_bytes();
  const std::uint64_t mine = static_cast<std::uint64_t>(rank) * block;
  switch (operation_.kind) {
    case OpKind::broadcast:
      spi::copy(output, rank == operation_.root ? input : meeting_.data(operation_.root, block), block, false);
      return;
    case OpKind::scatter: {
      const auto* all =
          rank == operation_.root ? input : meeting_.data(operation_.root, mailbox_bytes(operation_, ranks));
      spi::copy(output, all + mine, block, false);
      return;
    }
    case OpKind::alltoall:
      for (int r = 0; r < ranks; ++r) {
        const auto* all = r == rank ? input : meeting_.data(r, mailbox_bytes(operation_, ranks));
        spi::copy(output + static_cast<std::uint64_t>(r) * block, all + mine, block, false);
      }
      return;
    default:  // allgather, allgatherv, gather
      for_each_block(operation_.traits().output, operation_.output_layout, operation_, ranks,
                     [&](int r, std::uint64_t offset, std::uint64_t bytes) {
                       spi::copy(output + offset, r == rank ? input : meeting_.data(r, bytes), bytes, false);
                     });
  }
}

}  // namespace tutti::native
