#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "tutti/error.hpp"
#include "tutti/spi/home_process.hpp"
#include "watch/progress_slot.hpp"

namespace tutti::detail {

/// Where one communicator of this process shows its progress; see CommunicatorState. Without a slot of the board it
/// shows it to nobody.
class ProgressEntry {
 public:
  ProgressEntry() noexcept = default;
  /// Takes a slot in state `creating`; never fails: without memory or a free slot the entry is empty.
  ProgressEntry(int rank, int size, std::string_view name) noexcept;
  /// Marks the communicator as destroyed and gives the slot back, unless in a child of the process that took it.
  ~ProgressEntry();
  ProgressEntry(const ProgressEntry&) = delete;
  ProgressEntry& operator=(const ProgressEntry&) = delete;

  /// Null without a slot.
  [[nodiscard]] ProgressSlot* slot() const noexcept { return slot_; }
  /// Text by which the other ranks find this entry; see PeerProgress. `number`: of the communicator in this process.
  [[nodiscard]] std::string card(std::uint64_t number) const;

  /// Names the job and the communicator, the same on all ranks. `ranks_here`: how many of its ranks are on this host.
  void set_identity(std::string_view job, std::uint64_t communicator, int job_rank, int ranks_here) noexcept;
  void set_device(std::string_view device) noexcept;
  /// The communicator is ready for use.
  void activate(std::string_view backend) noexcept;
  /// Keeps the first failure that ends the communicator. From any thread.
  void fail(ErrorCode code, std::string_view text) noexcept;
  /// Shows that the process exits, or that the communicator is being destroyed, unless it has failed.
  void exit() noexcept { leave(SlotState::exited); }
  void close() noexcept { leave(SlotState::closing); }
  /// Shows why the communicator, which has not failed, is destroyed.
  void leave_because(std::string_view text) noexcept;

 private:
  void leave(SlotState how) noexcept;

  ProgressSlot* slot_ = nullptr;
  bool is_counted_ = false;  ///< among BoardHeader::communicators_without
  spi::HomeProcess home_;
};

/// Memory in which this process shows the progress of its communicators: a memfd that others find through /proc, so
/// that nothing is left when the process is killed. Made for the first communicator. Thread-safe.
class ProgressBoard {
 public:
  /// That of this process, not of the parent that it was forked from; null if there is no memory for it.
  [[nodiscard]] static ProgressBoard* instance() noexcept;
  /// A number that no other process has, with or without a board.
  [[nodiscard]] static std::uint64_t process_token() noexcept;

  ~ProgressBoard();
  ProgressBoard(const ProgressBoard&) = delete;
  ProgressBoard& operator=(const ProgressBoard&) = delete;

  /// A slot in state `creating`, all else as new; null when all are in use. The one that was given back first is taken
  /// first, so that a destroyed communicator can be seen as long as possible.
  [[nodiscard]] ProgressSlot* take() noexcept;
  void give_back(ProgressSlot& slot) noexcept;

  [[nodiscard]] BoardHeader& header() const noexcept { return *header_; }
  [[nodiscard]] ProgressSlot& slot(std::size_t index) const noexcept { return slots_[index]; }
  /// The slot that `call` belongs to; null if it is not on this board.
  [[nodiscard]] ProgressSlot* slot_of(const spi::CallProgress* call) const noexcept;
  [[nodiscard]] std::size_t index_of(const ProgressSlot& slot) const noexcept {
    return static_cast<std::size_t>(&slot - slots_);
  }
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  struct Process;
  [[nodiscard]] static Process* this_process() noexcept;
  explicit ProgressBoard(std::uint64_t token) noexcept;

  int descriptor_ = -1;
  BoardHeader* header_ = nullptr;
  ProgressSlot* slots_ = nullptr;
  std::mutex mutex_;      ///< of taking and giving back
  std::size_t next_ = 0;  ///< where to look for a free slot
};

/// CLOCK_MONOTONIC, as in CallProgress::since_ns.
[[nodiscard]] std::int64_t monotonic_ns() noexcept;

}  // namespace tutti::detail
