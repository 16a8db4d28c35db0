#include "segment/layout.hpp"

#include <algorithm>
#include <new>

namespace tutti::native {
namespace {

constexpr std::size_t kSmallestSlot = 4 * kLine;

constexpr std::size_t round_down(std::size_t bytes) noexcept { return bytes / kLine * kLine; }
constexpr std::size_t round_up(std::size_t bytes) noexcept { return (bytes + kLine - 1) / kLine * kLine; }

// Room for data in each of `slots` slots that share `budget` bytes.
std::size_t slot_bytes(std::size_t budget, std::size_t slots, std::size_t wanted) noexcept {
  if (slots == 0) return wanted;
  const std::size_t fair = round_down(budget / slots);
  return std::clamp(fair > sizeof(Slot) ? fair - sizeof(Slot) : 0, kSmallestSlot, wanted);
}

template <typename T>
void construct_at(std::byte* place) noexcept {
  ::new (static_cast<void*>(place)) T();
}

}  // namespace

Geometry Geometry::choose(int ranks, std::uint64_t budget, const CacheSizes& caches) {
  Geometry result;
  const auto n = static_cast<std::size_t>(ranks);
  // Mailboxes carry small data only; all of them together must leave most of the budget to the rings.
  const std::size_t mailbox = std::min<std::size_t>(16U << 10, budget / 16 / (kMailboxDepth * n));
  result.ranks = static_cast<std::uint32_t>(ranks);
  result.mailbox_bytes = std::max(round_down(mailbox), kSmallestSlot);

  Geometry no_slots = result;
  const std::size_t fixed = Layout::bytes(no_slots);
  const std::size_t rest = budget > fixed ? budget - fixed : 0;
  // A slot is written by one core and read by another, so it should stay in the second-level cache; a whole ring need
  // not. Measured: twice this size changes nothing, half of it costs a tenth.
  const std::size_t wanted = std::clamp<std::size_t>(round_down(caches.level2 / 4), 16U << 10, 256U << 10);
  const std::size_t pairs = n * (n - 1);
  const auto divide = [&](std::uint32_t slots) {
    result.depth = slots;
    result.pair_bytes = slot_bytes(rest / 2, pairs * slots, wanted);
    result.broadcast_bytes = slot_bytes(rest / 4, (n > 1 ? n : 0) * slots, wanted);
    result.message_bytes = slot_bytes(rest / 4, n * n * slots, n > 1 ? wanted / 2 : 4U << 10);
  };
  divide(4);
  if (result.pair_bytes < (4U << 10)) divide(2);  // many ranks: fewer slots are better than tiny ones
  return result;
}

Layout::Layout(std::byte* base, const Geometry& geometry) noexcept : base_(base), geometry_(geometry) {
  const std::size_t n = geometry.ranks;
  const std::size_t depth = geometry.depth;
  std::size_t at = 0;
  const auto place = [&at](std::size_t bytes) {
    const std::size_t here = at;
    at += round_up(bytes);
    return here;
  };
  place(sizeof(SegmentHeader));
  controls_ = place(n * sizeof(RankControl));
  pair_tails_ = place(n * (n - 1) * kLine);
  broadcast_tails_ = place(n * n * kLine);
  message_tails_ = place(n * n * kLine);
  mailboxes_ = place(n * kMailboxDepth * (sizeof(Mailbox) + geometry.mailbox_bytes));
  pair_slots_ = place(n * (n - 1) * depth * (sizeof(Slot) + geometry.pair_bytes));
  broadcast_slots_ = place((n > 1 ? n : 0) * depth * (sizeof(Slot) + geometry.broadcast_bytes));
  message_slots_ = place(n * n * depth * (sizeof(Slot) + geometry.message_bytes));
  end_ = at;
}

std::size_t Layout::bytes(const Geometry& geometry) noexcept { return Layout(nullptr, geometry).end_; }

std::array<Layout::Part, 4> Layout::parts(int rank) const noexcept {
  const auto share = [&](std::size_t begin, std::size_t end) {
    const std::size_t bytes = (end - begin) / geometry_.ranks;
    return Part{begin + static_cast<std::size_t>(rank) * bytes, bytes};
  };
  return {share(mailboxes_, pair_slots_), share(pair_slots_, broadcast_slots_), share(broadcast_slots_, message_slots_),
          share(message_slots_, end_)};
}

void Layout::construct() const noexcept {
  construct_at<SegmentHeader>(base_);
  header().geometry = geometry_;
  for (int r = 0; r < static_cast<int>(geometry_.ranks); ++r) {
    construct_at<RankControl>(reinterpret_cast<std::byte*>(&control(r)));
    control(r).asleep.store(kAwake, std::memory_order_relaxed);
    control(r).core.store(kNoCore, std::memory_order_relaxed);
  }
  for (std::size_t at = pair_tails_; at < mailboxes_; at += kLine) construct_at<std::atomic<std::uint64_t>>(base_ + at);
}

void Layout::construct(int rank) const noexcept {
  const auto construct_slots = [this](const RingPlace& ring) {
    for (std::uint64_t k = 0; k < geometry_.depth; ++k) construct_at<Slot>(reinterpret_cast<std::byte*>(&ring.slot(k)));
  };
  for (std::uint64_t k = 0; k < kMailboxDepth; ++k)
    construct_at<Mailbox>(reinterpret_cast<std::byte*>(&mailbox(rank, k)));
  const auto ranks = static_cast<int>(geometry_.ranks);
  if (ranks > 1) construct_slots(broadcast(rank));
  for (int to = 0; to < ranks; ++to) {
    if (rank != to) construct_slots(pair(rank, to));
    construct_slots(message(rank, to));
  }
}

RankControl& Layout::control(int rank) const noexcept {
  return *reinterpret_cast<RankControl*>(base_ + controls_ + static_cast<std::size_t>(rank) * sizeof(RankControl));
}

Mailbox& Layout::mailbox(int rank, std::uint64_t collective) const noexcept {
  const std::size_t index = static_cast<std::size_t>(rank) * kMailboxDepth + collective % kMailboxDepth;
  return *reinterpret_cast<Mailbox*>(base_ + mailboxes_ + index * (sizeof(Mailbox) + geometry_.mailbox_bytes));
}

RingPlace Layout::pair(int from, int to) const noexcept {
  const std::size_t index =
      static_cast<std::size_t>(from) * (geometry_.ranks - 1) + static_cast<std::size_t>(to < from ? to : to - 1);
  const std::size_t stride = sizeof(Slot) + geometry_.pair_bytes;
  return {base_ + pair_slots_ + index * geometry_.depth * stride, stride, geometry_.depth,
          base_ + pair_tails_ + index * kLine};
}

RingPlace Layout::broadcast(int from) const noexcept {
  const auto index = static_cast<std::size_t>(from);
  const std::size_t stride = sizeof(Slot) + geometry_.broadcast_bytes;
  return {base_ + broadcast_slots_ + index * geometry_.depth * stride, stride, geometry_.depth,
          base_ + broadcast_tails_ + index * geometry_.ranks * kLine};
}

RingPlace Layout::message(int from, int to) const noexcept {
  const std::size_t index = static_cast<std::size_t>(from) * geometry_.ranks + static_cast<std::size_t>(to);
  const std::size_t stride = sizeof(Slot) + geometry_.message_bytes;
  return {base_ + message_slots_ + index * geometry_.depth * stride, stride, geometry_.depth,
          base_ + message_tails_ + index * kLine};
}

}  // namespace tutti::native
