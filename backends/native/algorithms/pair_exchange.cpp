#include "algorithms/pair_exchange.hpp"

#include <algorithm>

#include "algorithms/blocks.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::native {

// Transfer::sent and received count chunks here.
PairExchange::PairExchange(Channels& channels, const Operation& operation, const Meeting& meeting)
    : channels_(channels), operation_(operation), meeting_(meeting) {
  meeting_.enter_once();
  find_blocks();
  for (int d = 1; d < channels.size(); ++d) {
    const int peer = channels.peer(d);
    if (sends_to(peer)) open_ += chunks(channels.transfer(peer).send_bytes);
    if (receives_from(peer)) open_ += chunks(channels.transfer(peer).receive_bytes);
  }
  check_own_block();
}

// All-to-all: every rank sends while it receives.
std::uint64_t PairExchange::chunk(const Geometry& geometry, OpKind kind, std::uint64_t bytes) noexcept {
  return geometry.pair.chunk(traits(kind).rooted ? chunk_of_message(bytes) : chunk_of_share(bytes));
}

bool PairExchange::sends_to(int peer) const noexcept {
  const OpTraits& traits = operation_.traits();
  if (!traits.rooted) return true;
  return traits.input_root_only ? channels_.rank() == operation_.root : peer == operation_.root;
}

bool PairExchange::receives_from(int peer) const noexcept {
  const OpTraits& traits = operation_.traits();
  if (!traits.rooted) return true;
  return traits.input_root_only ? peer == operation_.root : channels_.rank() == operation_.root;
}

std::uint64_t PairExchange::chunks(std::uint64_t bytes) const noexcept {
  const std::uint64_t longest = chunk(bytes);
  return bytes == 0 ? 1 : (bytes + longest - 1) / longest;
}

void PairExchange::find_blocks() {
  const OpTraits& traits = operation_.traits();
  const int ranks = channels_.size();
  const bool root = !traits.rooted || channels_.rank() == operation_.root;
  for (int r = 0; r < ranks; ++r) channels_.transfer(r) = {};
  const auto* input = static_cast<const std::byte*>(operation_.input);
  auto* output = static_cast<std::byte*>(operation_.output);
  if (traits.input == Extent::block) {
    const int to = operation_.root;
    channels_.transfer(to).from = input;
    channels_.transfer(to).send_bytes = operation_.block_bytes();
  } else if (root) {
    for_each_block(traits.input, operation_.input_layout, operation_, ranks,
                   [&](int r, std::uint64_t offset, std::uint64_t bytes) {
                     channels_.transfer(r).from = input + offset;
                     channels_.transfer(r).send_bytes = bytes;
                   });
  }
  if (traits.output == Extent::block) {
    const int from = operation_.root;
    channels_.transfer(from).to = output;
    channels_.transfer(from).receive_bytes = operation_.block_bytes();
  } else if (root) {
    std::uint64_t all = 0;
    for_each_block(traits.output, operation_.output_layout, operation_, ranks,
                   [&](int r, std::uint64_t offset, std::uint64_t bytes) {
                     channels_.transfer(r).to = output + offset;
                     channels_.transfer(r).receive_bytes = bytes;
                     all += bytes;
                   });
    streaming_ = channels_.exceeds_cache(all);
  }
}

void PairExchange::check_own_block() {
  const int rank = channels_.rank();
  if (!sends_to(rank) || !receives_from(rank)) return;
  const Transfer& own = channels_.transfer(rank);
  if (own.send_bytes != own.receive_bytes) meeting_.throw_length_mismatch(rank, own.send_bytes, own.receive_bytes);
  own_open_ = own.send_bytes;
}

bool PairExchange::copy_own_piece() {
  constexpr std::uint64_t kPiece = 64U << 10;
  if (own_open_ == 0) return false;
  const Transfer& own = channels_.transfer(channels_.rank());
  const std::uint64_t at = own.send_bytes - own_open_;
  const std::uint64_t bytes = std::min(own_open_, kPiece);
  spi::copy(own.to + at, own.from + at, bytes, streaming_);
  own_open_ -= bytes;
  return true;
}

int PairExchange::waits_for() const noexcept {
  return operation_.traits().rooted && channels_.rank() != operation_.root ? operation_.root : kAnyone;
}

StepResult PairExchange::step() {
  bool moved = false;
  for (int d = 1; d < channels_.size(); ++d) {
    const int peer = channels_.peer(d);
    if (sends_to(peer)) moved |= send(peer);
    if (receives_from(peer)) moved |= receive(peer);
  }
  // The own block comes last: no other rank waits for it.
  if (!moved) moved = copy_own_piece();
  if (open_ == 0 && own_open_ == 0) return StepResult::done;
  return moved ? StepResult::moved : StepResult::blocked;
}

bool PairExchange::send(int peer) {
  Transfer& transfer = channels_.transfer(peer);
  RingWriter& ring = channels_.pair_to(peer);
  if (transfer.sent == chunks(transfer.send_bytes)) return false;
  const std::uint64_t longest = chunk(transfer.send_bytes);
  const std::uint64_t offset = transfer.sent * longest;
  const std::uint64_t bytes = std::min(transfer.send_bytes - offset, longest);
  if (!ring.writable(bytes)) return false;
  Slot& slot = ring.slot();
  slot.tag = meeting_.tag();
  slot.total = transfer.send_bytes;
  ring.fill(transfer.from + offset, bytes);
  ring.publish(bytes);
  channels_.bells().notify(peer);
  ++transfer.sent;
  --open_;
  return true;
}

bool PairExchange::receive(int peer) {
  Transfer& transfer = channels_.transfer(peer);
  if (transfer.received == chunks(transfer.receive_bytes) || !meeting_.meet(peer)) return false;
  RingReader& ring = channels_.pair_from(peer);
  Slot* slot = ring.front();
  if (slot == nullptr) return false;
  if (slot->tag != meeting_.tag()) meeting_.throw_mismatch(peer);
  if (slot->total != transfer.receive_bytes) {
    meeting_.throw_length_mismatch(peer, slot->total, transfer.receive_bytes);
  }
  const std::uint64_t longest = chunk(transfer.receive_bytes);
  const std::uint64_t offset = transfer.received * longest;
  const std::uint64_t bytes = std::min(transfer.receive_bytes - offset, longest);
  ring.copy_to(transfer.to + offset, bytes, streaming_);
  ring.pop(bytes);
  channels_.bells().notify(peer);
  ++transfer.received;
  --open_;
  return true;
}

}  // namespace tutti::native
