#include "algorithms/reduce_pipeline.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

namespace tutti::native {

ReducePipeline::ReducePipeline(Channels& channels, const Operation& operation, const Meeting& meeting)
    : channels_(channels),
      operation_(operation),
      meeting_(meeting),
      kernel_(spi::reduce_kernel(operation.reduction, operation.type)),
      tuning_(reduce_tuning(operation, channels.size())),
      size_(size_of(operation.type)),
      shares_(scatters_result(operation.kind) ? Shares::blocks(operation, channels.size())
                                              : Shares::parts(operation, channels.size())) {
  const bool scatters = scatters_result(operation.kind);
  const bool root = channels.rank() == operation.root;
  if (operation.kind == OpKind::reduce) {
    writes_ = collects_ = root;
    publishes_ = !root;
  } else if (scatters) {
    publishes_ = collects_ = false;
  }
  const std::uint64_t share_bytes = shares_.longest(channels.size()) * size_;
  chunk_ = chunk(channels.geometry(), operation.kind, share_bytes) / size_;
  streaming_ = channels.exceeds_cache(share_bytes * (scatters ? 1 : static_cast<std::uint64_t>(channels.size())));

  open_ = shares_.length(channels.rank());
  for (int r = 0; r < channels.size(); ++r) {
    channels.transfer(r) = {};
    if (r == channels.rank()) continue;
    open_ += shares_.length(r);
    if (collects_)
      open_ += shares_.length(r);
    else if (!scatters && r != operation.root)
      channels.broadcast_from(r).skip(shares_.length(r) * size_, chunk_ * size_);
  }
  meeting_.enter_once();
}

std::uint64_t ReducePipeline::chunk(const Geometry& geometry, OpKind kind, std::uint64_t longest) noexcept {
  const std::uint64_t wanted = geometry.pair.chunk(chunk_of_share(longest));
  return scatters_result(kind) ? wanted : geometry.broadcast.chunk(wanted);
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
  const std::uint64_t rest = shares_.length(owner) - transfer.sent;
  RingWriter& ring = channels_.pair_to(owner);
  const std::uint64_t count = std::min(rest, chunk_);
  if (count == 0 || !ring.writable(count * size_)) return false;
  const auto* from = static_cast<const std::byte*>(operation_.input) + (shares_.begin(owner) + transfer.sent) * size_;
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
  const std::uint64_t rest = shares_.length(rank) - combined_;
  const std::uint64_t count = std::min(rest, chunk_);
  const std::uint64_t bytes = count * size_;
  if (count == 0 || (publishes_ && !channels_.broadcast().writable(bytes))) return false;
  const void** inputs = channels_.inputs();
  bool watched = false;
  for (int r = 0; r < ranks; ++r) {
    if (r == rank) {
      inputs[r] = static_cast<const std::byte*>(operation_.input) + (shares_.begin(rank) + combined_) * size_;
      continue;
    }
    RingReader& ring = channels_.pair_from(r);
    if (ring.front() == nullptr) return false;
    watched |= ring.is_watched(bytes);
    inputs[r] = ring.payload(bytes);
  }
  const std::uint64_t at = scatters_result(operation_.kind) ? combined_ : shares_.begin(rank) + combined_;
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
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = watched ? Clock::now() : Clock::time_point();
  if (publishes_)
    channels_.broadcast().write(bytes, reduce);
  else
    reduce(false);
  const Clock::duration took = watched ? Clock::now() - begin : Clock::duration();
  if (publishes_) {
    channels_.broadcast().publish(bytes);
    channels_.bells().notify_all();
  }
  for (int d = 1; d < ranks; ++d) {
    const int peer = channels_.peer(d);
    RingReader& ring = channels_.pair_from(peer);
    if (watched && ring.is_watched(bytes)) ring.report(bytes, took);
    ring.pop(bytes);
    channels_.bells().notify(peer);
  }
  combined_ += count;
  open_ -= count;
  return true;
}

bool ReducePipeline::collect(int owner) {
  Transfer& transfer = channels_.transfer(owner);
  const std::uint64_t rest = shares_.length(owner) - transfer.received;
  if (rest == 0) return false;
  RingReader& ring = channels_.broadcast_from(owner);
  if (ring.front() == nullptr) return false;
  const std::uint64_t count = std::min(rest, chunk_);
  auto* to = static_cast<std::byte*>(operation_.output) + (shares_.begin(owner) + transfer.received) * size_;
  ring.copy_to(to, count * size_, streaming_);
  ring.pop(count * size_);
  channels_.bells().notify(owner);
  transfer.received += count;
  open_ -= count;
  return true;
}

}  // namespace tutti::native
