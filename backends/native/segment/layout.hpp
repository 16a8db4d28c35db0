#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "caches.hpp"
#include "native_api.hpp"

/// What lies where in a segment. Everything shared is either an atomic or is published by one: plain bytes are written
/// before a stamp is stored and read after that stamp was seen.
namespace tutti::native {

inline constexpr std::size_t kLine = 64;

/// A piece of data on its way between ranks. `stamp` says which: the number of the collective for a mailbox, 1 + the
/// index of the chunk for a slot of a ring. Short data sits in the line of the stamp, so that it costs one cache miss.
struct alignas(kLine) Slot {
  std::atomic<std::uint64_t> stamp;
  std::uint64_t tag;  ///< fingerprint of the call, see Call
  std::uint64_t
      total;  ///< bytes of the whole message, where sender and receiver may disagree; of a mailbox: of an Offer
  std::array<std::byte, 40> brief;
};
static_assert(sizeof(Slot) == kLine);

/// What a rank called, for the messages of others. Relaxed: a torn text is possible if the rank goes on meanwhile,
/// which it cannot while someone who disagrees is still in the same collective.
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

enum class RankState : std::uint32_t { absent, joined, left };

/// Values of RankControl::asleep besides the rank that is waited for.
inline constexpr std::int32_t kAwake = -2;
inline constexpr std::int32_t kAnyone = -1;

/// Value of RankControl::core of a rank that has not said where it runs.
inline constexpr std::int32_t kNoCore = -1;

/// What a rank tells the others about itself; claimed, finished, verdict and busy serve Direct. Lines that are written
/// at different rates do not share.
struct RankControl {
  alignas(kLine) std::atomic<std::uint64_t> completed;  ///< number of the last collective this rank is through with
  alignas(kLine) std::atomic<std::uint32_t> doorbell;   ///< futex; counts the rings
  std::atomic<std::int32_t> asleep;                     ///< whose doing would wake this rank: kAwake, kAnyone or a rank
  alignas(kLine) std::atomic<std::uint64_t> claimed;    ///< pieces of its share that somebody has taken
  alignas(kLine) std::atomic<std::uint64_t> finished;   ///< ... and has done
  alignas(kLine) std::atomic<std::uint64_t> verdict;    ///< whether it has mapped what others offered
  std::atomic<std::uint32_t> busy;                      ///< it is using memory of others
  alignas(kLine) std::atomic<RankState> state;
  std::atomic<std::int32_t> core;  ///< where it ran when it last entered something, or kNoCore
  api::CoreSet cores;              ///< where it may run; written before the others know the segment
};

/// The first failure of a communicator, told to everybody.
struct alignas(kLine) FailureRecord {
  enum : std::uint32_t { kNone, kBeingWritten, kSet };
  std::atomic<std::uint32_t> state;
  std::int32_t code;     ///< ErrorCode
  std::int32_t culprit;  ///< the rank that died, left or aborted; -1: see text
  std::int32_t reporter;
  std::array<char, 1008> text;
};

/// How a segment is divided; chosen by rank 0 and read by the others.
struct Geometry {
  std::uint32_t ranks = 0;
  std::uint32_t depth = 0;          ///< slots of a ring, a power of two
  std::uint64_t mailbox_bytes = 0;  ///< room for data
  std::uint64_t pair_bytes = 0;     ///< room for data in a slot of a pair ring
  std::uint64_t broadcast_bytes = 0;
  std::uint64_t message_bytes = 0;  ///< of send and recv

  /// For so many ranks within `budget` bytes, with slots that stay in these caches. A budget that is too small for the
  /// number of ranks gets the smallest division that works.
  [[nodiscard]] static Geometry choose(int ranks, std::uint64_t budget, const CacheSizes& caches);
  [[nodiscard]] bool operator==(const Geometry&) const = default;
};

/// The begin of every segment.
struct SegmentHeader {
  std::array<char, 40> id;  ///< who has it wrong finds another one
  Geometry geometry;
  FailureRecord failure;
  alignas(kLine)
      std::atomic<std::uint32_t> sleepers;  ///< ranks that must be woken; mostly 0, so mostly in everybody's cache
};

/// A ring of slots of equal size and where its readers say how far they are.
struct RingPlace {
  std::byte* slots;
  std::size_t stride;
  std::uint64_t depth;
  std::byte* tails;  ///< one line per reader

  [[nodiscard]] Slot& slot(std::uint64_t index) const noexcept {
    return *reinterpret_cast<Slot*>(slots + (index & (depth - 1)) * stride);
  }
  [[nodiscard]] std::atomic<std::uint64_t>& tail(int reader) const noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(tails + static_cast<std::size_t>(reader) * kLine);
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
  /// What belongs to nobody.
  [[nodiscard]] Part common() const noexcept { return {0, mailboxes_}; }
  /// What a rank writes its data to: its mailboxes and its ends of the rings. Should be memory of its own node.
  [[nodiscard]] std::array<Part, 4> parts(int rank) const noexcept;
  /// Gives every atomic of the common part its life; by the creator, before anybody else looks.
  void construct() const noexcept;
  /// ... of a rank's parts; by that rank, before anybody else looks.
  void construct(int rank) const noexcept;

  [[nodiscard]] const Geometry& geometry() const noexcept { return geometry_; }
  [[nodiscard]] SegmentHeader& header() const noexcept { return *reinterpret_cast<SegmentHeader*>(base_); }
  [[nodiscard]] RankControl& control(int rank) const noexcept;
  [[nodiscard]] Mailbox& mailbox(int rank, std::uint64_t collective) const noexcept;
  /// From one rank to one other, for collectives. The two differ.
  [[nodiscard]] RingPlace pair(int from, int to) const noexcept;
  /// From one rank to all others; reader r uses tail(r).
  [[nodiscard]] RingPlace broadcast(int from) const noexcept;
  /// From one rank to one, for send and recv; may be the same rank.
  [[nodiscard]] RingPlace message(int from, int to) const noexcept;

 private:
  std::byte* base_;
  Geometry geometry_;
  std::size_t controls_;
  std::size_t mailboxes_;
  std::size_t pair_tails_;
  std::size_t broadcast_tails_;
  std::size_t message_tails_;
  std::size_t pair_slots_;
  std::size_t broadcast_slots_;
  std::size_t message_slots_;
  std::size_t end_;
};

}  // namespace tutti::native
