#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tutti/error.hpp"
#include "tutti/spi/call_fingerprint.hpp"
#include "tutti/spi/nested.hpp"
#include "watch/progress_slot.hpp"

namespace tutti::detail {

struct CommunicatorState;

/// Comparison of this rank's collectives with those of the ranks on its host, without communication: each rank leaves
/// the fingerprint of its call beside its progress, see ProgressSlot::marks, and reads those of the others. For
/// backends whose library does not compare the calls. Takes the place of the backend for calls that go straight to it.
///
/// - At the entry: a rank that comes last, as most mismatches have one, fails before the library sees its call.
/// - After a collective in which the ranks wait for each other: each reads the other's mark of it before it writes its
///   own of the next one, so of two ranks at least one finds the other's.
/// - While a call lasts, by the watcher; and when the library reports an error, which may be a consequence.
///
/// A look at a mark that its rank has just written takes as long as a part of a small collective. Small ones are
/// therefore looked at once in a while, by their numbers, so that the ranks look at the same ones.
///
/// A rank that runs ahead by a few collectives still has the marks of those before. Beyond that nothing is compared, so
/// it causes no false alarm; as the fingerprint includes those before, a mismatch that nobody met is noticed later.
/// Ranks on other hosts are not compared.
class CallComparison final : public spi::ForwardingCommunicator {
 public:
  /// Null where nothing can be compared: no other rank is visible, or the backend matches tensors by name.
  [[nodiscard]] static std::unique_ptr<CallComparison> create(CommunicatorState& state);
  CallComparison(CommunicatorState& state, ProgressSlot& slot);

  /// Shows a collective that begins; throws Error{invalid_usage} if another rank has shown a different one. Messages
  /// are passed over.
  void enter(const Operation& operation) {
    if (is_message(operation.kind)) return;
    history_ = spi::fingerprint(operation, size_, history_);
    number_ = operation.sequence;
    // Release: a reader that sees the mark sees the description of the call, which was written before it.
    mine_[number_ % kMarks].store(number_ << kHashBits | history_ >> kNumberBits, std::memory_order_release);
    looks_ = number_ % kSmallCalls == 0 || operation.block_bytes() >= kLarge || is_vector(operation.kind);
    if (looks_) compare();
  }
  /// The same comparison when the collective of the last enter() has been carried out.
  void leave() const {
    if (looks_) compare();
  }

  /// The mismatch of one of the last collectives with that of another rank, if there is one. From any thread.
  [[nodiscard]] std::optional<Error> find_mismatch() const;

 private:
  static constexpr std::size_t kMarks = ProgressSlot::kMarks;
  /// Bytes of a block from which a look costs less than 2 % of the fastest collective.
  static constexpr std::uint64_t kLarge = 16U << 10;
  /// As many as there are marks, so that the first collective that differs is still among them.
  static constexpr std::uint64_t kSmallCalls = kMarks;
  static constexpr unsigned kNumberBits = 16;
  static constexpr unsigned kHashBits = 64 - kNumberBits;
  static constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kNumberBits) - 1;
  /// Numbers between a mark and the last collective of its rank: a group may have several, a split has no mark.
  static constexpr std::uint64_t kFurthest = 1000;

  using Marks = std::array<std::atomic<std::uint64_t>, kMarks>;
  struct Peer {
    const Marks* marks;
    int rank;
  };

  /// Whether both marks are of collectives of the same number, as far as they tell, and differ.
  [[nodiscard]] static bool differ(std::uint64_t mark, std::uint64_t other) noexcept {
    const std::uint64_t difference = mark ^ other;
    return difference != 0 && difference >> kHashBits == 0 && other != 0;
  }
  void compare() const {
    const std::size_t place = number_ % kMarks;
    const std::uint64_t mark = mine_[place].load(std::memory_order_relaxed);
    for (const Peer& peer : peers_) {
      if (differ(mark, (*peer.marks)[place].load(std::memory_order_acquire))) [[unlikely]]
        throw_if_confirmed();
    }
  }
  void throw_if_confirmed() const;
  /// The number of the first collective of which both ranks have marks that differ; 0: none.
  [[nodiscard]] std::uint64_t first_difference(const Peer& peer) const noexcept;
  [[nodiscard]] Error mismatch(int rank, std::uint64_t number) const;

  void do_run(const Operation& operation) override;

  CommunicatorState& state_;
  Marks& mine_;
  std::vector<Peer> peers_;
  std::uint64_t history_ = 0;
  std::uint64_t number_ = 0;  ///< of the last collective
  int size_;
  bool looks_ = false;  ///< at the marks of the others, in the last collective
};

}  // namespace tutti::detail
