#pragma once

#include <cstdint>

#include "algorithms/meeting.hpp"
#include "algorithms/reach.hpp"
#include "algorithms/shares.hpp"
#include "failure.hpp"
#include "segment/channels.hpp"
#include "tutti/spi/kernels.hpp"
#include "tutti/types/operation.hpp"

namespace tutti::native {

/// Collectives on memory that every rank can reach: allreduce, reduce, reduce_scatter(v), allgather, broadcast. Nothing
/// is copied on the way: the work is cut into pieces, and for each piece one rank reads the inputs and writes the
/// outputs of all ranks that want the result. Each rank has a share of the pieces; a rank that has finished its own
/// share helps the others, so a rank without a core delays nobody. The result of a piece does not depend on the rank
/// that computes it.
///
/// Memory order. A rank's buffers are published by its stamp in the mailbox, like any data there. A piece is claimed in
/// RankControl::claimed of its share and counted in RankControl::finished when it is written (release); a rank that has
/// seen all pieces of all shares finished (acquire) sees all results, and no other rank touches its buffers any more.
/// Both words carry the number of the collective above the count, so a late rank cannot disturb a later collective.
///
/// A rank that leaves with an error while others use its memory waits for them: see Engine::quiesce(). It does so for a
/// limited time only for a process that was stopped by a signal in the middle of a piece, and then takes its output out
/// of that process's reach. The rest of such a piece may read an input that was changed meanwhile; the piece is not
/// counted as finished, so no rank takes its result for good.
class Direct {
 public:
  /// Whether the operation is one that is carried out directly if all ranks reach its memory; the same answer on all.
  [[nodiscard]] static bool suits(const Geometry& geometry, const Operation& operation) noexcept;
  /// Whether this rank can offer its buffers for the operation. If a rank cannot, the operation is declined.
  [[nodiscard]] static bool wants(const Channels& channels, const Reach& reach, const Operation& operation) noexcept;

  Direct(Channels& channels, Reach& reach, const FailureBoard& board, const Operation& operation,
         const Meeting& meeting);

  [[nodiscard]] StepResult step();
  [[nodiscard]] int waits_for() const noexcept { return phase_ == Phase::meeting ? meeting_.missing() : kAnyone; }
  [[nodiscard]] bool has_met_all() const noexcept { return meeting_.has_met_all(); }
  /// Whether the memory of some rank cannot be reached: all ranks must then use another algorithm.
  [[nodiscard]] bool declined() const noexcept { return phase_ == Phase::declined; }
  [[nodiscard]] const Meeting& meeting() const noexcept { return meeting_; }
  /// After a failure, when another process does not stop using this rank's memory: later writes to the output do not
  /// reach it, see spi::detach_shared().
  void detach_output() const noexcept;

 private:
  enum class Phase : std::uint8_t { meeting, mapping, working, finishing, declined };

  void decide();
  [[nodiscard]] StepResult await_verdicts();
  [[nodiscard]] StepResult work();
  [[nodiscard]] bool all_finished() noexcept;

  [[nodiscard]] const Offer& offer(int rank) const noexcept;
  [[nodiscard]] std::uint64_t pieces(int share) const noexcept { return (shares_.length(share) + piece_ - 1) / piece_; }
  [[nodiscard]] bool claim(int share, std::uint64_t& piece) noexcept;
  void carry_out(int share, std::uint64_t piece);

  Channels& channels_;
  Reach& reach_;
  const FailureBoard& board_;
  const Operation& operation_;
  Meeting meeting_;
  std::uint64_t size_;  // bytes of an element
  Shares shares_;
  std::uint64_t piece_;  // elements per piece
  int helped_ = 0;       // distance of the share that pieces are taken from
  int finished_ = 0;     // shares up to this distance are finished
  bool streaming_;
  Phase phase_ = Phase::meeting;
};

}  // namespace tutti::native
