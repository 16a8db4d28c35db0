#include "tuning/composed_steps.hpp"

namespace tutti {
namespace {

const void* at(const void* buffer, std::uint64_t bytes) noexcept {
  return buffer == nullptr ? nullptr : static_cast<const std::byte*>(buffer) + bytes;
}

void* at(void* buffer, std::uint64_t bytes) noexcept {
  return buffer == nullptr ? nullptr : static_cast<std::byte*>(buffer) + bytes;
}

/// A part that moves results: nothing is left to reduce.
Operation move_of(const Operation& operation, OpKind kind, std::uint64_t count) {
  Operation move = operation;
  move.kind = kind;
  move.count = count;
  move.root = 0;
  move.reduction = Reduction::sum;
  move.prescale = 1.0;
  return move;
}

std::vector<Operation> halves(const Operation& operation) {
  std::vector<Operation> steps(2, operation);
  steps[0].count = operation.count / 2;
  steps[1].count = operation.count - steps[0].count;
  steps[1].input = at(operation.input, steps[0].block_bytes());
  steps[1].output = at(operation.output, steps[0].block_bytes());
  return steps;
}

std::vector<Operation> reduce_broadcast(const Operation& operation, int rank) {
  Operation reduce = operation;
  reduce.kind = OpKind::reduce;
  reduce.root = 0;
  if (rank != 0) reduce.output = nullptr;
  Operation broadcast = move_of(operation, OpKind::broadcast, operation.count);
  broadcast.input = rank == 0 ? operation.output : nullptr;
  return {reduce, broadcast};
}

/// The elements that are left over when each rank has an equal block are reduced by an operation of their own.
std::vector<Operation> reduce_scatter_allgather(const Operation& operation, int rank, int size) {
  const std::uint64_t block = operation.count / static_cast<std::uint64_t>(size);
  const std::uint64_t even = block * static_cast<std::uint64_t>(size);
  const std::uint64_t width = size_of(operation.type);
  void* const own = at(operation.output, static_cast<std::uint64_t>(rank) * block * width);
  std::vector<Operation> steps;
  if (block > 0) {
    Operation scatter = operation;
    scatter.kind = OpKind::reduce_scatter;
    scatter.count = block;
    scatter.output = own;
    Operation gather = move_of(operation, OpKind::allgather, block);
    gather.input = own;
    steps = {scatter, gather};
  }
  if (even < operation.count || steps.empty()) {
    Operation rest = operation;
    rest.count = operation.count - even;
    rest.input = at(operation.input, even * width);
    rest.output = at(operation.output, even * width);
    steps.push_back(rest);
  }
  return steps;
}

std::vector<Operation> gather_broadcast(const Operation& operation, int rank, int size) {
  Operation gather = move_of(operation, OpKind::gather, operation.count);
  if (rank != 0) gather.output = nullptr;
  Operation broadcast = move_of(operation, OpKind::broadcast, operation.count * static_cast<std::uint64_t>(size));
  broadcast.input = rank == 0 ? operation.output : nullptr;
  return {gather, broadcast};
}

}  // namespace

std::vector<Operation> composed_steps(Composition composition, const Operation& operation, int rank, int size) {
  switch (composition) {
    case Composition::halves:
      return halves(operation);
    case Composition::reduce_broadcast:
      return reduce_broadcast(operation, rank);
    case Composition::reduce_scatter_allgather:
      return reduce_scatter_allgather(operation, rank, size);
    case Composition::gather_broadcast:
      return gather_broadcast(operation, rank, size);
    case Composition::none:
      break;
  }
  return {operation};
}

bool takes_composed(const spi::Capabilities& capabilities, Composition composition,
                    const Operation& operation) noexcept {
  if (!composes(composition, operation.kind)) return false;
  if (composition == Composition::none || composition == Composition::halves) return capabilities.takes(operation);
  for (const OpKind part : traits(composition).parts) {
    Operation step = operation;
    step.kind = part;
    if (!step.traits().reduces) step.prescale = 1.0;
    if (!capabilities.takes(step) || capabilities.builds(part)) return false;
  }
  return capabilities.takes(operation);  // of the elements that are left over
}

}  // namespace tutti
