#pragma once

#include <cstdint>

#include "algorithms/meeting.hpp"
#include "algorithms/reach.hpp"
#include "failure.hpp"
#include "segment/channels.hpp"
#include "tutti/operation.hpp"
#include "tutti/spi/kernels.hpp"

namespace tutti::native {

/// Collectives on memory that every rank can reach: allreduce, reduce, reduce_scatter, allgather, broadcast. Nothing is
/// copied on the way: the work is cut into pieces, and for each of them one rank reads the inputs it needs and writes
/// the outputs of all who want the result. Each rank has a share of the pieces; who is through with its own helps the
/// others, so a rank that does not get a core holds nobody up. The result of a piece does not depend on who does it.
///
/// Memory order. A rank's buffers are published by its stamp in the mailbox, like any data there. A piece is claimed in
/// RankControl::claimed of its share and counted in RankControl::finished when it is written (release); who has seen
/// all pieces of all shares finished (acquire) sees all results, and nobody touches its buffers any more. Both words
/// carry the number of the collective above the count, so what is late never meddles with a later one.
///
/// A rank that leaves with an error while others are at its memory waits for them, but not for one that has been
/// stopped by a signal in the middle of a piece: see Engine::quiesce().
class Direct {
 public:
  /// Whether this rank would have the operation done so. All ranks must, or it is declined.
  [[nodiscard]] static bool wants(const Channels& channels, const Reach& reach, const Operation& operation) noexcept;

  Direct(Channels& channels, Reach& reach, const FailureBoard& board, const Operation& operation,
         const Meeting& meeting);

  [[nodiscard]] StepResult step();
  [[nodiscard]] int waits_for() const noexcept { return phase_ == Phase::meeting ? meeting_.missing() : kAnyone; }
  [[nodiscard]] bool has_met_all() const noexcept { return meeting_.has_met_all(); }
  /// A rank has other memory: it must be done in another way, by all.
  [[nodiscard]] bool declined() const noexcept { return phase_ == Phase::declined; }
  [[nodiscard]] const Meeting& meeting() const noexcept { return meeting_; }

 private:
  enum class Phase : std::uint8_t { meeting, mapping, working, finishing, declined };

  void decide();
  [[nodiscard]] StepResult await_verdicts();
  [[nodiscard]] StepResult work();
  [[nodiscard]] bool all_finished() noexcept;

  [[nodiscard]] const Offer& offer(int rank) const noexcept;
  // Elements of a share: a part of the vector, or the block of a rank.
  [[nodiscard]] std::uint64_t begin(int share) const noexcept;
  [[nodiscard]] std::uint64_t length(int share) const noexcept;
  [[nodiscard]] std::uint64_t pieces(int share) const noexcept { return (length(share) + piece_ - 1) / piece_; }
  [[nodiscard]] bool claim(int share, std::uint64_t& piece) noexcept;
  void carry_out(int share, std::uint64_t piece);

  Channels& channels_;
  Reach& reach_;
  const FailureBoard& board_;
  const Operation& operation_;
  Meeting meeting_;
  std::uint64_t size_;   // of an element
  std::uint64_t share_;  // elements per share
  std::uint64_t piece_;  // elements
  int helped_ = 0;       // distance of the share that pieces are taken from
  int finished_ = 0;     // shares up to this distance are
  bool streaming_;
  Phase phase_ = Phase::meeting;
};

}  // namespace tutti::native
