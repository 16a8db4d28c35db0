#include "mpi_split.hpp"

#include <algorithm>
#include <cstring>

#include "tutti/spi/instrument.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::mpi {
namespace {

/// The input or output of an operation as one block per rank, for any Extent.
class Blocks {
 public:
  Blocks(const Operation& operation, Extent extent, const void* base, const BlockLayout& layout, int size)
      : base_(static_cast<std::byte*>(const_cast<void*>(base))), element_(size_of(operation.type)) {
    const auto ranks = static_cast<std::size_t>(size);
    counts_.assign(ranks, operation.count);
    begins_.assign(ranks, 0);
    std::uint64_t packed = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (extent == Extent::vector && layout.counts != nullptr) counts_[rank] = layout.counts[rank];
      if (extent == Extent::vector || extent == Extent::blocks) {
        begins_[rank] = layout.displacements != nullptr ? layout.displacements[rank] : packed;
      }
      packed += counts_[rank];
    }
  }

  [[nodiscard]] std::uint64_t count(int rank) const { return counts_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] void* at(int rank) const {
    const std::uint64_t begin = begins_[static_cast<std::size_t>(rank)];
    return base_ == nullptr ? nullptr : base_ + begin * element_;
  }

 private:
  std::byte* base_;
  std::uint64_t element_;
  std::vector<std::uint64_t> counts_;
  std::vector<std::uint64_t> begins_;
};

bool fits(const BlockLayout& layout, int size, std::uint64_t max_count, std::uint64_t alone_above) {
  std::uint64_t packed = 0;
  for (int rank = 0; rank < size; ++rank) {
    const std::uint64_t begin = layout.displacements != nullptr ? layout.displacements[rank] : packed;
    packed += layout.counts[rank];
    if (layout.counts[rank] > alone_above || begin > max_count) return false;
  }
  return true;
}

void copy_block(void* to, const void* from, std::uint64_t bytes) {
  if (to != from && bytes != 0) spi::copy(to, from, bytes, false);
}

}  // namespace

Split::Split(const Operation& operation, int rank, int size, std::uint64_t max_count)
    : operation_(operation), rank_(rank), size_(size), max_count_(max_count) {
  // All ranks know all lengths of a reduce_scatterv, so that each block can be a step.
  const bool vector = is_vector(operation.kind) && !operation.traits().reduces;
  alone_above_ = vector ? max_count / static_cast<std::uint64_t>(size) : 0;
  if (vector) keep_rest();
  add_steps();
  has_messages_ = !steps_.empty() && is_message(steps_.front().kind);
}

Split::~Split() {
  for (const Packed* packed : {&input_, &output_}) {
    if (packed->memory) spi::report_free("mpi", packed->memory.get(), packed->bytes);
  }
}

bool Split::is_needed(const Operation& operation, int rank, int size, std::uint64_t max_count) {
  const std::uint64_t alone_above = max_count / static_cast<std::uint64_t>(size);
  const OpTraits& traits = operation.traits();
  const bool at_root = rank == operation.root;
  if (operation.count > alone_above) return true;
  if (traits.input == Extent::vector && (at_root || !traits.input_root_only) &&
      !fits(operation.input_layout, size, max_count, alone_above)) {
    return true;
  }
  return traits.output == Extent::vector && (at_root || !traits.output_root_only) &&
         !fits(operation.output_layout, size, max_count, alone_above);
}

void Split::add_step(OpKind kind, int root, std::uint64_t count, const void* input, void* output) {
  Operation step;
  step.kind = kind;
  step.type = operation_.type;
  step.reduction = operation_.reduction;
  step.root = root;
  const std::uint64_t element = size_of(step.type);
  for (std::uint64_t done = 0; done < count; done += step.count) {
    step.count = std::min(max_count_, count - done);
    step.input = input == nullptr ? nullptr : static_cast<const std::byte*>(input) + done * element;
    step.output = output == nullptr ? nullptr : static_cast<std::byte*>(output) + done * element;
    steps_.push_back(step);
  }
}

void Split::add_steps() {
  const OpTraits& traits = operation_.traits();
  const bool at_root = rank_ == operation_.root;
  const Blocks in(operation_, traits.input, operation_.input, operation_.input_layout, size_);
  const Blocks out(operation_, traits.output, operation_.output, operation_.output_layout, size_);
  const auto copy_own = [&] {
    const std::uint64_t count = out.count(rank_);
    if (travels_alone(count)) copy_block(out.at(rank_), in.at(rank_), count * size_of(operation_.type));
  };

  switch (operation_.kind) {
    case OpKind::reduce_scatter:
    case OpKind::reduce_scatterv:
      for (int rank = 0; rank < size_; ++rank) {
        add_step(OpKind::reduce, rank, in.count(rank), in.at(rank), rank == rank_ ? operation_.output : nullptr);
      }
      return;
    case OpKind::allgather:
    case OpKind::allgatherv:
      copy_own();
      for (int rank = 0; rank < size_; ++rank) {
        if (travels_alone(out.count(rank))) {
          add_step(OpKind::broadcast, rank, out.count(rank), out.at(rank), out.at(rank));
        }
      }
      return;
    case OpKind::gather:
    case OpKind::gatherv:
    case OpKind::scatter:
    case OpKind::scatterv:
    case OpKind::alltoall:
    case OpKind::alltoallv: {
      const bool sends = at_root || !traits.input_root_only;
      const bool receives = at_root || !traits.output_root_only;
      const bool gathers = traits.output_root_only;
      const bool scatters = traits.input_root_only;
      if (sends && receives) copy_own();
      for (int peer = 0; peer < size_; ++peer) {
        if (peer == rank_) continue;
        // In a rooted form every message is from or to the root.
        if (receives && (!scatters || peer == operation_.root) && travels_alone(out.count(peer))) {
          add_step(OpKind::recv, peer, out.count(peer), nullptr, out.at(peer));
        }
        if (sends && (!gathers || peer == operation_.root) && travels_alone(in.count(peer))) {
          add_step(OpKind::send, peer, in.count(peer), in.at(peer), nullptr);
        }
      }
      return;
    }
    default:
      add_step(operation_.kind, operation_.root, operation_.count, operation_.input, operation_.output);
  }
}

void Split::keep_rest() {
  const OpTraits& traits = operation_.traits();
  const bool at_root = rank_ == operation_.root;
  rest_ = operation_;
  if (travels_alone(operation_.count)) rest_->count = 0;
  if (traits.input == Extent::vector && (at_root || !traits.input_root_only)) {
    auto* base = static_cast<std::byte*>(const_cast<void*>(operation_.input));
    keep_side(operation_.input_layout, base, input_);
    rest_->input_layout = {input_.counts.data(), input_.displacements.data()};
    if (input_.memory) {
      copy_packed(operation_.input_layout, base, input_, false);
      rest_->input = input_.memory.get();
    }
  }
  if (traits.output == Extent::vector && (at_root || !traits.output_root_only)) {
    keep_side(operation_.output_layout, static_cast<std::byte*>(operation_.output), output_);
    rest_->output_layout = {output_.counts.data(), output_.displacements.data()};
    if (output_.memory) rest_->output = output_.memory.get();
  }
}

void Split::keep_side(const BlockLayout& layout, std::byte* base, Packed& packed) {
  const auto ranks = static_cast<std::size_t>(size_);
  packed.counts.assign(ranks, 0);
  packed.displacements.assign(ranks, 0);
  bool must_pack = false;
  std::uint64_t begin = 0;
  for (std::size_t rank = 0; rank < ranks; begin += layout.counts[rank], ++rank) {
    if (travels_alone(layout.counts[rank]) || layout.counts[rank] == 0) continue;
    packed.counts[rank] = layout.counts[rank];
    packed.displacements[rank] = layout.displacements != nullptr ? layout.displacements[rank] : begin;
    must_pack = must_pack || packed.displacements[rank] > max_count_;
  }
  if (!must_pack || base == nullptr) return;
  std::uint64_t total = 0;
  for (std::size_t rank = 0; rank < ranks; total += packed.counts[rank], ++rank) packed.displacements[rank] = total;
  packed.bytes = total * size_of(operation_.type);
  packed.memory = std::make_unique<std::byte[]>(packed.bytes);
  spi::report_allocation("mpi", packed.memory.get(), packed.bytes);
}

void Split::copy_packed(const BlockLayout& layout, std::byte* base, const Packed& packed, bool out) const {
  const std::uint64_t element = size_of(operation_.type);
  std::uint64_t begin = 0;
  for (std::size_t rank = 0; rank < packed.counts.size(); begin += layout.counts[rank], ++rank) {
    const std::uint64_t place = layout.displacements != nullptr ? layout.displacements[rank] : begin;
    std::byte* const theirs = base + place * element;
    std::byte* const ours = packed.memory.get() + packed.displacements[rank] * element;
    copy_block(out ? theirs : ours, out ? ours : theirs, packed.counts[rank] * element);
  }
}

void Split::finish() {
  if (output_.memory) {
    copy_packed(operation_.output_layout, static_cast<std::byte*>(operation_.output), output_, true);
  }
}

}  // namespace tutti::mpi
