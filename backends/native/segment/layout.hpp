#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "caches.hpp"
#include "native_api.hpp"
#include "segment/write_choice.hpp"

/// Memory layout of a segment. All shared data is either atomic or published by an atomic: plain bytes are written
/// before a stamp is stored and read after that stamp was seen.
namespace tutti::native {

inline constexpr std::size_t kLine = 64;

/// A piece of data on its way between ranks. `stamp` identifies it: the number of the collective for a mailbox, 1 + the
/// position of the chunk in a ring. Short data is in the cache line of the stamp, so that it costs one miss.
struct alignas(kLine) Slot {
  std::atomic<std::uint64_t> stamp;
  std::uint64_t tag;    ///< fingerprint of the call, see Call
  std::uint64_t total;  ///< ring: bytes of the whole message, for the receiver to compare; mailbox: bytes of the Offer
  std::array<std::byte, 40> brief;

  /// Measurement that the readers of a chunk are to make. It lies in `brief`, which longer chunks do not use.
  void set_watch(std::size_t bytes, Watch watch) noexcept {
    if (bytes > brief.size()) brief.front() = static_cast<std::byte>(watch);
  }
  [[nodiscard]] Watch watch(std::size_t bytes) const noexcept {
    return bytes > brief.size() ? static_cast<Watch>(brief.front()) : Watch::none;
  }
};
static_assert(sizeof(Slot) == kLine);

/// The call of a rank, for error messages of other ranks. Relaxed: a reader may see parts of two calls if the rank goes
/// on meanwhile, which it cannot while a rank that disagrees is still in the same collective.
struct alignas(kLine) CallRecord {
  std::atomic<std::uint64_t> sequence;
  std::atomic<std::uint64_t> count;
  std::atomic<std::uint64_t> prescale;  ///< bits of the double
  std::atomic<std::int32_t> root;
  std::atomic<std::uint8_t> kind;
  std::atomic<std::uint8_t> type;
  std::atomic<std::uint8_t> reduction;
};
static_assert(sizeof(CallRecord) == kLine);

/// A mailbox is a Slot, a CallRecord and room for data that does not fit the slot's line.
struct Mailbox {
  Slot slot;
  CallRecord record;

  [[nodiscard]] std::byte* payload(std::size_t bytes) noexcept {
    return bytes <= slot.brief.size() ? slot.brief.data() : reinterpret_cast<std::byte*>(this + 1);
  }
};

/// Mailboxes of a rank: collective k uses number k % 2.
inline constexpr std::uint64_t kMailboxDepth = 2;

/// exited: its process called exit() before the rank had left.
enum class RankState : std::uint32_t { absent, joined, left, exited };

/// Values of RankControl::asleep besides the number of the awaited rank.
inline constexpr std::int32_t kAwake = -2;
inline constexpr std::int32_t kAnyone = -1;

/// Value of RankControl::core of a rank that has not announced its core.
inline constexpr std::int32_t kNoCore = -1;

/// State that a rank publishes to the others. Direct uses claimed, finished, verdict and busy; the collectives on
/// device memory use the last two. Members that are written at different rates do not share a cache line.
struct RankControl {
  alignas(kLine) std::atomic<std::uint64_t> completed;  ///< number of the last collective this rank has completed
  alignas(kLine) std::atomic<std::uint32_t> doorbell;   ///< futex; counts the rings
  std::atomic<std::int32_t> asleep;                     ///< the rank that is to wake this one, kAnyone or kAwake
  alignas(kLine) std::atomic<std::uint64_t> claimed;    ///< pieces of its share that ranks have taken
  alignas(kLine) std::atomic<std::uint64_t> finished;   ///< pieces of its share that are finished
  alignas(kLine) std::atomic<std::uint64_t> verdict;    ///< whether it could open the memory that others offered
  std::atomic<std::uint32_t> busy;                      ///< 1 while it uses memory of others
  alignas(kLine) std::atomic<RankState> state;
  std::atomic<std::int32_t> exit_code;  ///< of a rank that has exited
  std::atomic<std::int32_t> core;       ///< core on which it ran when it last entered a collective, or kNoCore
  api::CoreSet cores;                   ///< cores on which it may run; written before any rank leaves Segment::join()
};

/// The first failure of a communicator, visible to all ranks.
struct alignas(kLine) FailureRecord {
  enum : std::uint32_t { kNone, kBeingWritten, kSet };
  std::atomic<std::uint32_t> state;
  std::int32_t code;     ///< ErrorCode
  std::int32_t culprit;  ///< the rank that died, left or aborted; -1: see text
  std::int32_t reporter;
  std::array<char, 1008> text;
};

/// Size of a ring: `depth` units of data, a Slot for each of them. Both are powers of two.
struct RingShape {
  std::uint32_t depth = 2;
  std::uint32_t unit = 256;  ///< bytes

  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return depth * (sizeof(Slot) + unit); }
  /// The longest chunk: it leaves room for others, so that writer and readers work at the same time.
  [[nodiscard]] constexpr std::uint64_t longest_chunk() const noexcept {
    return std::uint64_t{depth < 8 ? 1 : depth / 4} * unit;
  }
  /// Length of chunks that should have `wanted` bytes: whole cache lines.
  [[nodiscard]] constexpr std::uint64_t chunk(std::uint64_t wanted) const noexcept {
    return std::min((wanted + kLine - 1) / kLine * kLine, longest_chunk());
  }
  [[nodiscard]] bool operator==(const RingShape&) const = default;
};

/// Bytes of the chunks in which every rank sends a share of that many bytes, while it receives as many. Short shares
/// are sent whole: there is something to do in each stage already, and more chunks would only add handshakes.
[[nodiscard]] constexpr std::uint64_t chunk_of_share(std::uint64_t share) noexcept {
  return std::min<std::uint64_t>(share, 64U << 10);
}

/// Bytes of the chunks of a message of that many bytes that goes in one direction: the reader copies out while the
/// writer copies in, so short messages are cut, too. Long ones are cut into longer chunks: the reader of a chunk that
/// has left the writer's private caches meanwhile finds it in the shared one.
[[nodiscard]] constexpr std::uint64_t chunk_of_message(std::uint64_t bytes) noexcept {
  return std::max(std::clamp<std::uint64_t>(bytes / 4, 4U << 10, 64U << 10),
                  std::min<std::uint64_t>(bytes / 8, 256U << 10));
}

/// Division of a segment; chosen by rank 0 and read by the others.
struct Geometry {
  std::uint32_t ranks = 0;
  std::uint64_t mailbox_bytes = 0;  ///< room for data in a mailbox
  RingShape pair;
  RingShape broadcast;
  RingShape message;  ///< of send and recv between two ranks
  RingShape self;     ///< of messages of a rank to itself

  /// Divides `budget` bytes for that many ranks with these caches. If the budget is too small for the number of ranks,
  /// the result is the smallest division that works.
  [[nodiscard]] static Geometry choose(int ranks, std::uint64_t budget, const CacheSizes& caches);
  [[nodiscard]] bool operator==(const Geometry&) const = default;
};

/// The start of every segment.
struct SegmentHeader {
  std::array<char, 40> id;  ///< random; shows a rank whether it has opened the right file
  Geometry geometry;
  FailureRecord failure;
  alignas(kLine)
      std::atomic<std::uint32_t> sleepers;  ///< number of sleeping ranks; mostly 0, so mostly in every rank's cache
};

/// State of a reader of a ring: how far it has read, and its times for the chunks that it was asked to watch.
struct alignas(kLine) ReaderState {
  std::atomic<std::uint64_t> tail;
  std::array<std::atomic<std::uint64_t>, kWatched> watched_ns;
  std::array<std::atomic<std::uint64_t>, kWatched> watched_bytes;
};
static_assert(sizeof(ReaderState) == kLine);

/// Location of a ring: a Slot for each unit of data, the data, and a ReaderState per reader. All positions count units
/// and never wrap.
///
/// A chunk is consecutive units of data and the Slot of its position. One that does not fit between its position and
/// the end of the ring has its data at the start; the units at the end are part of it then.
struct RingPlace {
  RingShape shape;
  std::byte* slots;
  std::byte* data;
  std::byte* readers;  ///< a ReaderState each

  [[nodiscard]] Slot& slot(std::uint64_t position) const noexcept {
    return *reinterpret_cast<Slot*>(slots + wrapped(position) * sizeof(Slot));
  }
  [[nodiscard]] ReaderState& reader(int index) const noexcept {
    return *reinterpret_cast<ReaderState*>(readers + static_cast<std::size_t>(index) * sizeof(ReaderState));
  }
  /// Address of the data of the chunk of that many bytes at that position.
  [[nodiscard]] std::byte* payload(std::uint64_t position, std::size_t bytes) const noexcept {
    Slot& its_slot = slot(position);
    if (bytes <= its_slot.brief.size()) return its_slot.brief.data();
    const std::uint64_t at = wrapped(position);
    return data + (at + units(bytes) > shape.depth ? 0 : at) * shape.unit;
  }
  /// The position after that chunk.
  [[nodiscard]] std::uint64_t after(std::uint64_t position, std::size_t bytes) const noexcept {
    const std::uint64_t at = wrapped(position);
    const std::uint64_t count = units(bytes);
    return position + count + (at + count > shape.depth ? shape.depth - at : 0);
  }

 private:
  [[nodiscard]] std::uint64_t wrapped(std::uint64_t position) const noexcept { return position & (shape.depth - 1); }
  [[nodiscard]] std::uint64_t units(std::size_t bytes) const noexcept {
    return bytes <= shape.unit ? 1 : (bytes + shape.unit - 1) / shape.unit;
  }
};

/// Finds the parts of a mapped segment.
class Layout {
 public:
  Layout(std::byte* base, const Geometry& geometry) noexcept;

  /// A range of the segment.
  struct Part {
    std::size_t offset;
    std::size_t bytes;
  };

  /// Bytes of a segment of that geometry.
  [[nodiscard]] static std::size_t bytes(const Geometry& geometry) noexcept;
  /// The part that belongs to no single rank.
  [[nodiscard]] Part common() const noexcept { return {0, mailboxes_}; }
  /// The parts to which a rank writes its data: its mailboxes and its rings. Should be memory of its own NUMA node.
  [[nodiscard]] std::array<Part, 5> parts(int rank) const noexcept;
  /// Constructs the atomics of the common part; called by the creator before any other rank reads them.
  void construct() const noexcept;
  /// Constructs the atomics of a rank's parts; called by that rank before any other rank reads them.
  void construct(int rank) const noexcept;

  [[nodiscard]] const Geometry& geometry() const noexcept { return geometry_; }
  [[nodiscard]] SegmentHeader& header() const noexcept { return *reinterpret_cast<SegmentHeader*>(base_); }
  [[nodiscard]] RankControl& control(int rank) const noexcept;
  [[nodiscard]] Mailbox& mailbox(int rank, std::uint64_t collective) const noexcept;
  /// Ring from one rank to another, for collectives. The two differ.
  [[nodiscard]] RingPlace pair(int from, int to) const noexcept;
  /// Ring from one rank to all others; reader r uses tail(r).
  [[nodiscard]] RingPlace broadcast(int from) const noexcept;
  /// Ring from one rank to another or to itself, for send and recv.
  [[nodiscard]] RingPlace message(int from, int to) const noexcept;

 private:
  std::byte* base_;
  Geometry geometry_;
  std::size_t controls_;
  std::size_t mailboxes_;
  std::size_t pair_tails_;
  std::size_t broadcast_tails_;
  std::size_t message_tails_;
  std::size_t self_tails_;
  std::size_t pair_slots_;
  std::size_t broadcast_slots_;
  std::size_t message_slots_;
  std::size_t self_slots_;
  std::size_t end_;

  // Place of a pair of different ranks among all of them.
  [[nodiscard]] std::size_t index_of_pair(int from, int to) const noexcept;
  [[nodiscard]] RingPlace ring(const RingShape& shape, std::size_t slots, std::size_t index,
                               std::size_t tails) const noexcept;
};

}  // namespace tutti::native
