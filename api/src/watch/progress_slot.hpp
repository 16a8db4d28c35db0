#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "tutti/spi/call_progress.hpp"

/// Layout of the progress board, the memory in which a process shows how far its ranks have come; see ProgressBoard.
/// Readers are other processes, perhaps of another version of tutti: every change here changes kBoardVersion.
namespace tutti::detail {

inline constexpr std::uint64_t kBoardMagic = 0x6472616F42747574U;  // "tutBoard"
inline constexpr std::uint32_t kBoardVersion = 3;
inline constexpr std::size_t kBoardSlots = 256;
/// Name of the memfd, by which `tutti ps` finds the boards among the descriptors of the processes.
inline constexpr const char* kBoardName = "tutti-board";

enum class SlotState : std::uint32_t {
  free = 0,
  creating = 1,
  active = 2,
  failed = 3,
  destroyed = 4,
  exited = 5,   ///< the process exits without having destroyed the communicator
  closing = 6,  ///< the communicator is being destroyed, which may wait for other ranks
};
inline constexpr std::uint32_t kSlotStates = 7;

/// A text in shared memory. Of atomic characters, because it may be read at any time; a reader gets either the whole
/// text or learns from the state of the slot that it is not there yet.
template <std::size_t Bytes>
class BoardText {
 public:
  void assign(std::string_view text) noexcept {
    const std::size_t length = std::min(text.size(), Bytes - 1);
    for (std::size_t i = 0; i < length; ++i) bytes_[i].store(text[i], std::memory_order_relaxed);
    bytes_[length].store('\0', std::memory_order_relaxed);
  }
  /// With every character that could confuse a terminal replaced: the memory may be of a process that means harm.
  [[nodiscard]] std::string read() const {
    std::string text;
    for (const std::atomic<char>& byte : bytes_) {
      const char letter = byte.load(std::memory_order_relaxed);
      if (letter == '\0') break;
      const auto code = static_cast<unsigned char>(letter);
      text += code < 0x20 || code == 0x7F || code >= 0x80 ? '?' : letter;
    }
    return text;
  }

 private:
  std::array<std::atomic<char>, Bytes> bytes_ = {};
};

/// State of one rank in one communicator. Written by the process of the rank only.
struct alignas(2048) ProgressSlot {
  spi::CallProgress call;
  /// Number and fingerprint of the last collectives, each at its number modulo kMarks, for the ranks that compare their
  /// own with them; see CallComparison. Zero: none, or nobody compares.
  static constexpr std::size_t kMarks = 8;
  alignas(64) std::array<std::atomic<std::uint64_t>, kMarks> marks = {};
  alignas(64) std::atomic<std::uint32_t> state =
      0;                                        ///< SlotState; stored with release after the texts that belong to it
  std::atomic<std::uint32_t> generation = 0;    ///< how often the slot was taken; tells its uses apart
  std::atomic<std::uint32_t> is_failing = 0;    ///< the failure is being written or is there
  std::atomic<std::int32_t> failure_code = 0;   ///< ErrorCode
  std::atomic<std::int32_t> rank = -1;          ///< in the communicator
  std::atomic<std::int32_t> size = 0;           ///< of the communicator
  std::atomic<std::int32_t> job_rank = -1;      ///< rank in the communicator that was split first; -1: not known yet
  std::atomic<std::int32_t> ranks_here = 0;     ///< ranks of the communicator on this host; 0: not known yet
  std::atomic<std::uint64_t> communicator = 0;  ///< the same on all its ranks; 0: not known yet
  BoardText<16> job;                            ///< the same on all ranks; empty: not known yet
  BoardText<80> name;
  BoardText<48> backend;  ///< empty while the communicator is being created
  BoardText<48> device;   ///< of the placement, once it was asked for
  BoardText<512> failure;
  // Tensors of an engine that some ranks have not submitted.
  std::atomic<std::uint32_t> stall_writes = 0;  ///< odd while the following are being written
  std::atomic<std::int32_t> stalled_by = -1;    ///< the first of those ranks, in the communicator; -1: there are none
  BoardText<512> stall;                         ///< ranks and tensors, for people

  /// Replaces the stall; an empty text: there is none. One caller at a time.
  void set_stall(std::string_view text, int by) noexcept;
  /// Makes it new for the next communicator; other processes may be reading it.
  void reset() noexcept;
};
static_assert(std::is_standard_layout_v<ProgressSlot> && sizeof(ProgressSlot) == 2048);

struct alignas(4096) BoardHeader {
  std::uint64_t magic = kBoardMagic;
  std::uint32_t version = kBoardVersion;
  std::uint32_t slots = kBoardSlots;
  std::uint32_t slot_bytes = sizeof(ProgressSlot);
  std::int32_t pid = 0;     ///< owner, as it sees itself; a forked child is another process
  std::uint64_t token = 0;  ///< random: tells this board from others with the same pid
  std::atomic<std::uint64_t> communicators_without = 0;  ///< communicators of now that found no free slot
};
static_assert(std::is_standard_layout_v<BoardHeader>);

inline constexpr std::size_t kBoardBytes = sizeof(BoardHeader) + kBoardSlots * sizeof(ProgressSlot);

}  // namespace tutti::detail
