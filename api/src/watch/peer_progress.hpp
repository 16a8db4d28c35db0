#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tutti/info/progress.hpp"
#include "tutti/spi/module.hpp"
#include "watch/progress_slot.hpp"

namespace tutti::detail {

/// The board of another process, mapped to be read; keeps the last state of a process that has died.
class PeerBoard;

/// This rank's view of the progress of all ranks of a communicator. The ranks on the same host are mapped when the
/// communicator is made; of others (another host or pid namespace, no board) nothing is known. Thread-safe.
class PeerProgress {
 public:
  PeerProgress() = default;
  /// `cards`: ProgressEntry::card() of all ranks, by rank.
  PeerProgress(std::span<const std::string> cards, const spi::Peers& peers);

  [[nodiscard]] int size() const noexcept { return static_cast<int>(ranks_.size()); }
  /// Number of the rank's process; 0 where it is in another pid namespace.
  [[nodiscard]] std::int64_t pid(int rank) const noexcept { return ranks_[static_cast<std::size_t>(rank)].pid; }
  /// Nothing where the state cannot be seen, or the rank has used its slot for another communicator since (it has then
  /// destroyed this one).
  [[nodiscard]] std::optional<ProgressSnapshot> look(int rank) const noexcept;
  /// Whether look() works for the rank at all.
  [[nodiscard]] bool is_visible(int rank) const noexcept {
    return ranks_[static_cast<std::size_t>(rank)].slot != nullptr;
  }
  /// Its state; null where that cannot be seen. It may be of another communicator by now, see is_current().
  [[nodiscard]] const ProgressSlot* slot(int rank) const noexcept {
    return ranks_[static_cast<std::size_t>(rank)].slot;
  }
  /// Whether its slot, which is visible, has not been taken for another communicator since.
  [[nodiscard]] bool is_current(int rank) const noexcept {
    const Rank& entry = ranks_[static_cast<std::size_t>(rank)];
    return entry.slot->generation.load(std::memory_order_acquire) == entry.generation;
  }
  /// The text of its failure; empty if it has none or nothing is known.
  [[nodiscard]] std::string failure(int rank) const;
  /// Whether its process exits without having destroyed the communicator.
  [[nodiscard]] bool has_exited(int rank) const noexcept;
  /// Why the rank has left or is leaving without a failure of this communicator; empty if it gave no reason.
  [[nodiscard]] std::string reason_for_leaving(int rank) const;
  /// Its code; ErrorCode::ok if there is none or nothing is known.
  [[nodiscard]] ErrorCode failure_code(int rank) const noexcept;

 private:
  struct Rank {
    std::int64_t pid = 0;
    std::shared_ptr<const PeerBoard> board;  ///< null in the same process
    const ProgressSlot* slot = nullptr;      ///< null: not visible
    std::uint32_t generation = 0;
  };
  std::vector<Rank> ranks_;
};

/// Job and communicator as rank 0's card names them: the same on all ranks.
struct CardIdentity {
  std::string job;
  std::uint64_t communicator = 0;
};
[[nodiscard]] CardIdentity identity_of(const std::string& card_of_rank_0);

/// A rank as describe_late() needs it.
struct RankView {
  int rank = 0;
  std::int64_t pid = 0;
  std::optional<ProgressSnapshot> progress;  ///< nothing: unknown
  std::string failure = {};
};

/// All ranks but `self`.
[[nodiscard]] std::vector<RankView> views_of_others(const PeerProgress& peers, int self);

/// For an operation that takes too long: the ranks that have not entered it, how far they are behind and what they did
/// last. "rank 2 (pid 17) has not entered allreduce(sum) #41 of 1024 float32 (4 KiB): it left barrier #40 12.3 s ago
/// and is not in a call". `mine`: this rank's state in that operation; `now_ns`: CLOCK_MONOTONIC.
[[nodiscard]] std::string describe_late(const ProgressSnapshot& mine, std::span<const RankView> others,
                                        std::int64_t now_ns);

}  // namespace tutti::detail
