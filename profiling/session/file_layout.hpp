#pragma once

#include <cstddef>
#include <cstdint>

#include "session/buckets.hpp"

/// The file that a process of a session writes: a header block, then blocks of the same size in the order in which they
/// were needed. A block has a type and an owner; its content is an array (rows, events, balances) or a sequence
/// (descriptions), of which `used` says how much is there. Whatever is written once stays where it is.
///
/// The recorder writes it through a mapping, so a reader may meet it at any moment: a block's `used` and the header's
/// `blocks` are stored after what they count, and every other number is to be doubted.
namespace tutti::profiling::layout {

inline constexpr std::uint64_t kMagic = 0x31464f5250545554;  // "TUTPROF1" in little-endian order
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::size_t kBlockBytes = 16384;
inline constexpr std::size_t kHostBytes = 256;
inline constexpr std::size_t kCommandBytes = 4096;
inline constexpr std::size_t kProblemBytes = 512;
/// End of the names of process files.
inline constexpr const char* kFileSuffix = ".tuttiprof";
/// File in the session's folder with the state in which processes begin that are not there yet: "stop" or "start".
inline constexpr const char* kControlFile = "control";

/// The first block. Times are nanoseconds of CLOCK_MONOTONIC.
struct Header {
  std::uint64_t magic;    ///< stored last
  std::uint32_t version;  ///< of everything in this file
  std::uint32_t block_bytes;
  std::uint32_t pid;
  std::uint32_t start;  ///< 0 for the first file of this process number on this host, 1 after exec, ...
  std::uint64_t begin_ns;
  std::int64_t realtime_offset;
  std::uint64_t memory_limit;
  std::uint64_t cost_ps;  ///< picoseconds that a record takes, with the two readings of the clock around it
  std::uint32_t parent;
  std::uint32_t timeline;  ///< 1: events of all kinds, 0: of operations only

  /// Whether the process records: 1 or 0. Written by the process and by others that control it.
  alignas(64) std::uint32_t recording;
  std::uint32_t discarded;  ///< 1: the session does not want the records of this rank

  alignas(64) std::uint32_t blocks;  ///< with the header
  std::uint32_t ended;               ///< 1: the process ended in order
  std::int32_t rank;
  std::int32_t size;
  std::uint64_t end_ns;  ///< of the process; 0: not ended
  std::uint64_t resident_peak;
  std::uint64_t ended_threads;

  alignas(64) std::uint64_t dropped;  ///< records that are in no table
  std::uint64_t dropped_events;       ///< records that are in a table, but not in the timeline
  alignas(64) char host[kHostBytes];  ///< texts end with a zero
  char command[kCommandBytes];        ///< arguments separated by spaces
  char problem[kProblemBytes];
};
static_assert(sizeof(Header) <= kBlockBytes);

enum class BlockType : std::uint32_t { none, descriptions, rows, events, balances };

/// Start of every block but the first.
struct BlockHeader {
  BlockType type = {};
  std::uint32_t used = 0;            ///< elements; bytes of descriptions
  std::uint32_t thread = 0;          ///< system-wide id of the first thread that wrote it
  std::uint32_t table = 0;           ///< number of the thread's table
  std::uint64_t last_ns = 0;         ///< rows: end of the last record that went to this table's first block of rows
  std::uint64_t dropped = 0;         ///< rows, first block of a table: its share of Header::dropped
  std::uint64_t dropped_events = 0;  ///< the same for Header::dropped_events
  std::uint64_t reserved[3] = {};
};
static_assert(sizeof(BlockHeader) == 64);
inline constexpr std::size_t kPayloadBytes = kBlockBytes - sizeof(BlockHeader);

/// Facts that the records of a row have in common. Numbers refer to descriptions.
struct RowKey {
  std::uint8_t kind = 0;
  std::uint8_t reserved = 0;
  std::uint16_t source = 0;
  std::uint32_t name = 0;
  std::uint32_t context = 0;
  std::uint32_t device = 0;
  std::uint32_t region = 0;
  bool operator==(const RowKey&) const = default;
};

/// An aggregated row of a thread.
struct Row {
  RowKey key;
  std::uint32_t balance;  ///< of memory: its Balance, by number from 1
  std::uint64_t calls;
  std::uint64_t errors;
  std::uint64_t total;
  std::uint64_t min;
  std::uint64_t max;
  std::uint64_t bytes;
  std::uint64_t reserved;
  std::uint32_t buckets[kBucketCount];
};
static_assert(sizeof(Row) == 1088);
inline constexpr std::size_t kRowsPerBlock = kPayloadBytes / sizeof(Row);
static_assert(kRowsPerBlock == 15);

/// Place of a row in the file: number of its block times 16, and its place in the block.
using RowPlace = std::uint32_t;
[[nodiscard]] constexpr RowPlace row_place(std::uint32_t block, std::uint32_t slot) noexcept {
  return block << 4 | slot;
}

/// An event of the timeline.
struct Event {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  RowPlace row = 0;  ///< has everything that it shares with others
  std::int32_t error = 0;
  std::uint64_t bytes = 0;
  std::uint64_t correlation = 0;
  std::uint64_t operation = 0;  ///< number of the communicator times 2^48, and the operation's number on it
};
static_assert(sizeof(Event) == 48);
inline constexpr std::size_t kEventsPerBlock = kPayloadBytes / sizeof(Event);
inline constexpr int kSequenceBits = 48;

/// Memory of an owner on a device, over all threads of the process.
struct Balance {
  std::uint16_t source = 0;
  std::uint16_t reserved = 0;
  std::uint32_t name = 0;
  std::uint32_t device = 0;
  std::uint32_t reserved2 = 0;
  std::int64_t held = 0;
  std::int64_t peak = 0;
};
static_assert(sizeof(Balance) == 32);
inline constexpr std::size_t kBalancesPerBlock = kPayloadBytes / sizeof(Balance);

/// Kinds of descriptions. Each counts its numbers from 1.
enum class DescriptionType : std::uint16_t { none, name, source, device, context, communicator };
inline constexpr std::size_t kDescriptionTypes = 6;
inline constexpr std::size_t kTexts = 4;

/// A description, followed by its texts. Meaning of the fields:
/// name: text; source: title, c = level; device: name, a = device, b = sub-device;
/// context: operation, type, backend, label, a = bytes, c = ranks; communicator: name, a = key, c = rank, d = size.
struct Entry {
  DescriptionType type = {};
  std::uint16_t entry_bytes = 0;  ///< with the texts, a multiple of 8
  std::uint32_t number = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::int32_t c = 0;
  std::int32_t d = 0;
  std::uint16_t lengths[kTexts] = {};
};
static_assert(sizeof(Entry) == 40);
inline constexpr std::size_t kLongestText = 4000;
static_assert(sizeof(Entry) + kTexts * kLongestText + 8 <= kPayloadBytes);

}  // namespace tutti::profiling::layout
