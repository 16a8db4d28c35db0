#include "segment/layout.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace tutti::native {
namespace {

constexpr std::size_t kSmallestMailbox = 4 * kLine;

constexpr std::size_t round_down(std::size_t bytes) noexcept { return bytes / kLine * kLine; }
constexpr std::size_t round_up(std::size_t bytes) noexcept { return (bytes + kLine - 1) / kLine * kLine; }

// The largest shape, up to `wanted` bytes of data, of each of `rings` rings that share `budget` bytes.
RingShape shape_of(std::size_t budget, std::size_t rings, std::size_t wanted) noexcept {
  constexpr std::size_t kFewestUnits = 16;  // of a shape with units that are not the smallest
  RingShape result;
  if (rings == 0) return result;
  const auto fits = [&](std::size_t unit) { return budget / rings / (sizeof(Slot) + unit); };
  std::size_t unit = 4096;
  while (unit > result.unit && (fits(unit) < kFewestUnits || wanted / unit < kFewestUnits)) unit /= 2;
  result.unit = static_cast<std::uint32_t>(unit);
  result.depth = static_cast<std::uint32_t>(std::bit_floor(std::clamp<std::size_t>(fits(unit), 2, wanted / unit)));
  return result;
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
  result.mailbox_bytes = std::max(round_down(mailbox), kSmallestMailbox);

  const std::size_t fixed = Layout::bytes(result);
  const std::size_t rest = budget > fixed ? budget - fixed : 0;
  // A line that comes round again while it is still in the writer's or the reader's second-level cache has to be
  // fetched back from there, which takes several times as long as from the shared cache. So a ring is longer than the
  // second-level cache, and every message goes on where the one before ended.
  const std::size_t wanted = std::clamp<std::size_t>(std::bit_floor(2 * caches.level2), 256U << 10, 2U << 20);
  result.pair = shape_of(rest / 2, n * (n - 1), wanted);
  result.broadcast = shape_of(rest / 8 * 3, n > 1 ? n : 0, wanted);
  result.self = shape_of(rest / 32, n, n > 1 ? 256U << 10 : 16U << 10);
  // Messages get all that is left: the rings of the collectives of few ranks are as long as they should be with less
  // than their part.
  result.message.depth = 0;
  const std::size_t taken = Layout::bytes(result);
  result.message = shape_of(budget > taken ? budget - taken : 0, n * (n - 1), wanted);
  return result;
}

Layout::Layout(std::byte* base, const Geometry& geometry) noexcept : base_(base), geometry_(geometry) {
  const std::size_t n = geometry.ranks;
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
  message_tails_ = place(n * (n - 1) * kLine);
  self_tails_ = place(n * kLine);
  mailboxes_ = place(n * kMailboxDepth * (sizeof(Mailbox) + geometry.mailbox_bytes));
  pair_slots_ = place(n * (n - 1) * geometry.pair.bytes());
  broadcast_slots_ = place((n > 1 ? n : 0) * geometry.broadcast.bytes());
  message_slots_ = place(n * (n - 1) * geometry.message.bytes());
  self_slots_ = place(n * geometry.self.bytes());
  end_ = at;
}

std::size_t Layout::bytes(const Geometry& geometry) noexcept { return Layout(nullptr, geometry).end_; }

std::array<Layout::Part, 5> Layout::parts(int rank) const noexcept {
  const auto share = [&](std::size_t begin, std::size_t end) {
    const std::size_t bytes = (end - begin) / geometry_.ranks;
    return Part{begin + static_cast<std::size_t>(rank) * bytes, bytes};
  };
  return {share(mailboxes_, pair_slots_), share(pair_slots_, broadcast_slots_), share(broadcast_slots_, message_slots_),
          share(message_slots_, self_slots_), share(self_slots_, end_)};
}

void Layout::construct() const noexcept {
  construct_at<SegmentHeader>(base_);
  header().geometry = geometry_;
  for (int r = 0; r < static_cast<int>(geometry_.ranks); ++r) {
    construct_at<RankControl>(reinterpret_cast<std::byte*>(&control(r)));
    control(r).asleep.store(kAwake, std::memory_order_relaxed);
    control(r).core.store(kNoCore, std::memory_order_relaxed);
  }
  for (std::size_t at = pair_tails_; at < mailboxes_; at += kLine) construct_at<ReaderState>(base_ + at);
}

void Layout::construct(int rank) const noexcept {
  const auto construct_slots = [](const RingPlace& ring) {
    for (std::uint64_t k = 0; k < ring.shape.depth; ++k)
      construct_at<Slot>(reinterpret_cast<std::byte*>(&ring.slot(k)));
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

RingPlace Layout::ring(const RingShape& shape, std::size_t slots, std::size_t index, std::size_t tails) const noexcept {
  std::byte* const begin = base_ + slots + index * shape.bytes();
  return {shape, begin, begin + shape.depth * sizeof(Slot), base_ + tails};
}

std::size_t Layout::index_of_pair(int from, int to) const noexcept {
  return static_cast<std::size_t>(from) * (geometry_.ranks - 1) + static_cast<std::size_t>(to < from ? to : to - 1);
}

RingPlace Layout::pair(int from, int to) const noexcept {
  const std::size_t index = index_of_pair(from, to);
  return ring(geometry_.pair, pair_slots_, index, pair_tails_ + index * kLine);
}

RingPlace Layout::broadcast(int from) const noexcept {
  const auto index = static_cast<std::size_t>(from);
  return ring(geometry_.broadcast, broadcast_slots_, index, broadcast_tails_ + index * geometry_.ranks * kLine);
}

RingPlace Layout::message(int from, int to) const noexcept {
  if (from == to) {
    const auto index = static_cast<std::size_t>(from);
    return ring(geometry_.self, self_slots_, index, self_tails_ + index * kLine);
  }
  const std::size_t index = index_of_pair(from, to);
  return ring(geometry_.message, message_slots_, index, message_tails_ + index * kLine);
}

}  // namespace tutti::native
