#include "algorithms/reduce_pipeline.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tutti::native {
namespace {

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t step) noexcept {
  return (value + step - 1) / step * step;
}

}  // namespace

ReducePipeline::ReducePipeline(Channels& channels, const Operation& operation, const Meeting& meeting)
    : channels_(channels),
      operation_(operation),
      meeting_(meeting),
      kernel_(spi::reduce_kernel(operation.reduction, operation.type)),
      tuning_(reduce_tuning(operation, channels.size())),
      size_(size_of(operation.type)) {
  const auto ranks = static_cast<std::uint64_t>(channels.size());
  const std::uint64_t line = kLine / size_;
  const bool scatters = operation.kind == OpKind::reduce_scatter;
  const bool root = channels.rank() == operation.root;
  if (operation.kind == OpKind::reduce) {
    writes_ = collects_ = root;
    publishes_ = !root;
  } else if (scatters) {
    publishes_ = collects_ = false;
  }
  // Whole cache lines per owner, so that no two ranks write to one line.
  share_ = scatters ? operation.count : round_up((operation.count + ranks - 1) / ranks, line);
  const Geometry& geometry = channels.geometry();
  const std::uint64_t wanted = geometry.pair.chunk(chunk_of_share(share_ * size_));
  chunk_ = (scatters ? wanted : geometry.broadcast.chunk(wanted)) / size_;
  streaming_ = channels.exceeds_cache(share_ * size_ * (scatters ? 1 : ranks));

  open_ = length(channels.rank());
  for (int r = 0; r < channels.size(); ++r) {
    channels.transfer(r) = {};
    if (r == channels.rank()) continue;
    open_ += length(r);
    if (collects_)
      open_ += length(r);
    else if (!scatters && r != operation.root)
      channels.broadcast_from(r).skip(length(r) * size_, chunk_ * size_);
  }
  meeting_.enter_once();
}

std::uint64_t ReducePipeline::begin(int owner) const noexcept {
  const std::uint64_t at = share_ * static_cast<std::uint64_t>(owner);
  return operation_.kind == OpKind::reduce_scatter ? at : std::min(at, operation_.count);
}

std::uint64_t ReducePipeline::length(int owner) const noexcept {
  if (operation_.kind == OpKind::reduce_scatter) return share_;
  return std::min(share_, operation_.count - begin(owner));
}

StepResult ReducePipeline::step() {
  const int ranks = channels_.size();
  bool moved = false;
  for (int d = 1; d < ranks; ++d) moved |= deliver(channels_.peer(d));
  // Data of peers is not read before it is known that all ranks made the same call.
  if (meeting_.meet_all()) {
    moved |= combine();
    if (collects_) {
      for (int d = 1; d < ranks; ++d) moved |= collect(channels_.peer(d));
    }
    if (open_ == 0) return StepResult::done;
  }
  return moved ? StepResult::moved : StepResult::blocked;
}

bool ReducePipeline::deliver(int owner) {
  Transfer& transfer = channels_.transfer(owner);
  const std::uint64_t rest = length(owner) - transfer.sent;
  RingWriter& ring = channels_.pair_to(owner);
  const std::uint64_t count = std::min(rest, chunk_);
  if (count == 0 || !ring.writable(count * size_)) return false;
  const auto* from = static_cast<const std::byte*>(operation_.input) + (begin(owner) + transfer.sent) * size_;
  ring.fill(from, count * size_);
  ring.publish(count * size_);
  channels_.bells().notify(owner);
  transfer.sent += count;
  open_ -= count;
  return true;
}

bool ReducePipeline::combine() {
  const int ranks = channels_.size();
  const int rank = channels_.rank();
  const std::uint64_t rest = length(rank) - combined_;
  const std::uint64_t count = std::min(rest, chunk_);
  const std::uint64_t bytes = count * size_;
  if (count == 0 || (publishes_ && !channels_.broadcast().writable(bytes))) return false;
  const void** inputs = channels_.inputs();
  for (int r = 0; r < ranks; ++r) {
    if (r == rank) {
      inputs[r] = static_cast<const std::byte*>(operation_.input) + (begin(rank) + combined_) * size_;
      continue;
    }
    RingReader& ring = channels_.pair_from(r);
    if (ring.front() == nullptr) return false;
    inputs[r] = ring.payload(bytes);
  }
  const std::uint64_t at = operation_.kind == OpKind::reduce_scatter ? combined_ : begin(rank) + combined_;
  std::byte* output = writes_ ? static_cast<std::byte*>(operation_.output) + at * size_ : nullptr;
  std::byte* shared = publishes_ ? channels_.broadcast().payload(bytes) : nullptr;
  const auto reduce = [&](bool streams_slot) {
    std::array<void*, 2> outputs{};
    int wanted = 0;
    tuning_.streamed_outputs = 0;
    const auto add = [&](std::byte* to, bool streams) {
      if (to == nullptr) return;
      outputs[static_cast<std::size_t>(wanted++)] = to;
      if (!streams) return;
      std::swap(outputs[0], outputs[static_cast<std::size_t>(wanted - 1)]);  // streamed outputs come first
      ++tuning_.streamed_outputs;
    };
    add(output, streaming_);
    add(shared, streams_slot);
    kernel_(outputs.data(), wanted, inputs, ranks, count, tuning_);
  };
  if (publishes_) {
    channels_.broadcast().writes().write(bytes, reduce);
    channels_.broadcast().publish(bytes);
    channels_.bells().notify_all();
  } else {
    reduce(false);
  }
  for (int d = 1; d < ranks; ++d) {
    const int peer = channels_.peer(d);
    channels_.pair_from(peer).pop(bytes);
    channels_.bells().notify(peer);
  }
  combined_ += count;
  open_ -= count;
  return true;
}

bool ReducePipeline::collect(int owner) {
  Transfer& transfer = channels_.transfer(owner);
  const std::uint64_t rest = length(owner) - transfer.received;
  if (rest == 0) return false;
  RingReader& ring = channels_.broadcast_from(owner);
  if (ring.front() == nullptr) return false;
  const std::uint64_t count = std::min(rest, chunk_);
  auto* to = static_cast<std::byte*>(operation_.output) + (begin(owner) + transfer.received) * size_;
  spi::copy(to, ring.payload(count * size_), count * size_, streaming_);
  ring.pop(count * size_);
  channels_.bells().notify(owner);
  transfer.received += count;
  open_ -= count;
  return true;
}

}  // namespace tutti::native
