#include "algorithms/broadcast_stream.hpp"

#include <algorithm>

#include "algorithms/blocks.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::native {

BroadcastStream::BroadcastStream(Channels& channels, const Operation& operation, const Meeting& meeting)
    : channels_(channels), operation_(operation), meeting_(meeting) {
  const bool rooted = operation.kind == OpKind::broadcast;
  std::uint64_t longest = 0;
  std::uint64_t all = 0;
  const auto add = [&](int r, std::uint64_t offset, std::uint64_t bytes) {
    Transfer& transfer = channels.transfer(r);
    transfer = {};
    transfer.to = static_cast<std::byte*>(operation.output) + offset;
    (r == channels.rank() ? transfer.send_bytes : transfer.receive_bytes) = bytes;
    if (r == channels.rank()) transfer.from = static_cast<const std::byte*>(operation.input);
    open_ += bytes;
    all += bytes;
    longest = std::max(longest, bytes);
  };
  if (rooted) {
    for (int r = 0; r < channels.size(); ++r) channels.transfer(r) = {};
    add(operation.root, 0, operation.block_bytes());
  } else {
    for_each_block(operation.traits().output, operation.output_layout, operation, channels.size(), add);
  }
  chunk_ = chunk(channels.geometry(), operation.kind, longest);
  streaming_ = channels.exceeds_cache(all);
  meeting_.enter_once();
}

std::uint64_t BroadcastStream::chunk(const Geometry& geometry, OpKind kind, std::uint64_t longest) noexcept {
  return geometry.broadcast.chunk(kind == OpKind::broadcast ? chunk_of_message(longest) : chunk_of_share(longest));
}

int BroadcastStream::waits_for() const noexcept {
  const bool follows = operation_.kind == OpKind::broadcast && channels_.rank() != operation_.root;
  return follows ? operation_.root : kAnyone;
}

StepResult BroadcastStream::step() {
  bool moved = send();
  for (int d = 1; d < channels_.size(); ++d) moved |= receive(channels_.peer(d));
  // An empty block has no chunk that would reveal a rank that disagrees; so no rank leaves an allgather before it has
  // met all others.
  const bool met = operation_.kind == OpKind::broadcast || meeting_.meet_all();
  if (open_ == 0 && met) return StepResult::done;
  return moved ? StepResult::moved : StepResult::blocked;
}

bool BroadcastStream::copies_locally() const noexcept {
  const Transfer& mine = channels_.transfer(channels_.rank());
  return mine.from != mine.to && mine.to != nullptr;
}

bool BroadcastStream::send() {
  Transfer& mine = channels_.transfer(channels_.rank());
  const std::uint64_t bytes = std::min(mine.send_bytes - mine.sent, chunk_);
  if (bytes == 0 || !channels_.broadcast().writable(bytes)) return false;
  channels_.broadcast().fill(mine.from + mine.sent, bytes);
  channels_.broadcast().publish(bytes);
  channels_.bells().notify_all();
  // The chunk is still in the cache: the local copy costs no second read of memory.
  if (copies_locally()) spi::copy(mine.to + mine.sent, mine.from + mine.sent, bytes, streaming_);
  mine.sent += bytes;
  open_ -= bytes;
  return true;
}

bool BroadcastStream::receive(int from) {
  Transfer& transfer = channels_.transfer(from);
  const std::uint64_t bytes = std::min(transfer.receive_bytes - transfer.received, chunk_);
  if (bytes == 0 || !meeting_.meet(from)) return false;
  RingReader& ring = channels_.broadcast_from(from);
  if (ring.front() == nullptr) return false;
  ring.copy_to(transfer.to + transfer.received, bytes, streaming_);
  ring.pop(bytes);
  channels_.bells().notify(from);
  transfer.received += bytes;
  open_ -= bytes;
  return true;
}

}  // namespace tutti::native
