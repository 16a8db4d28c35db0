#include "algorithms/direct.hpp"

#include <algorithm>

#include "algorithms/reduce_pipeline.hpp"
#include "tutti/spi/shared_memory.hpp"

namespace tutti::native {
namespace {

// Below this the mailboxes and rings are faster: the ranks meet only once.
constexpr std::uint64_t kSmallest = 16U << 10;
// A share is cut into this many pieces, so that other ranks can help.
constexpr std::uint64_t kPiecesPerShare = 8;
// Shorter pieces would cost as much to claim as to carry out; longer ones would keep a rank from everything else for
// too long.
constexpr std::uint64_t kShortestPiece = 8U << 10;
constexpr std::uint64_t kLongestPiece = 256U << 10;

// RankControl::finished has the number of the collective above a count of pieces. RankControl::claimed has two counts
// below the number: in the lower bits the pieces that the owner of the share took, above them those that others took.
constexpr unsigned kCountBits = 16;
constexpr unsigned kNumberShift = 2 * kCountBits;
constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;
constexpr std::uint64_t kByOwner = 1;
constexpr std::uint64_t kByOthers = std::uint64_t{1} << kCountBits;

bool is_possible(OpKind kind) noexcept {
  return kind == OpKind::allreduce || kind == OpKind::reduce || scatters_result(kind) || kind == OpKind::allgather ||
         kind == OpKind::broadcast;
}

bool is_by_block(OpKind kind) noexcept { return scatters_result(kind) || kind == OpKind::allgather; }

// Elements of a block; where the lengths differ, on average, which all ranks know.
std::uint64_t block_elements(const Operation& operation, int ranks) noexcept {
  if (operation.kind != OpKind::reduce_scatterv) return operation.count;
  return Shares::blocks(operation, ranks).total() / static_cast<std::uint64_t>(ranks);
}

// Bytes of a rank's buffers that others read or write.
std::uint64_t input_bytes(const Operation& operation, int rank, int ranks) noexcept {
  if (operation.traits().input_root_only && rank != operation.root) return 0;
  if (scatters_result(operation.kind)) return Shares::blocks(operation, ranks).total() * size_of(operation.type);
  const std::uint64_t blocks = operation.traits().input == Extent::blocks ? static_cast<std::uint64_t>(ranks) : 1;
  return blocks * operation.block_bytes();
}

std::uint64_t output_bytes(const Operation& operation, int rank, int ranks) noexcept {
  if (operation.traits().output_root_only && rank != operation.root) return 0;
  const std::uint64_t blocks = operation.traits().output == Extent::blocks ? static_cast<std::uint64_t>(ranks) : 1;
  return blocks * operation.block_bytes();
}

}  // namespace

bool Direct::suits(const Geometry& geometry, const Operation& operation) noexcept {
  const auto ranks = static_cast<int>(geometry.ranks);
  if (!is_possible(operation.kind) || ranks > spi::kMostOutputs) return false;
  // Compared by count: the product of count and ranks may not fit 64 bits, but no buffer of such a length exists.
  return block_elements(operation, ranks) >= kSmallest / size_of(operation.type) &&
         geometry.mailbox_bytes >= sizeof(Offer);
}

bool Direct::wants(const Channels& channels, const Reach& reach, const Operation& operation) noexcept {
  const int ranks = channels.size();
  return suits(channels.geometry(), operation) &&
         reach.can_offer(operation, input_bytes(operation, channels.rank(), ranks),
                         output_bytes(operation, channels.rank(), ranks));
}

Direct::Direct(Channels& channels, Reach& reach, const FailureBoard& board, const Operation& operation,
               const Meeting& meeting)
    : channels_(channels),
      reach_(reach),
      board_(board),
      operation_(operation),
      meeting_(meeting),
      size_(size_of(operation.type)),
      shares_(is_by_block(operation.kind) ? Shares::blocks(operation, channels.size())
                                          : Shares::parts(operation, channels.size())) {
  const std::uint64_t line = kLine / size_;
  const std::uint64_t share = shares_.longest(channels.size());
  const std::uint64_t wanted = std::clamp(share * size_ / kPiecesPerShare, kShortestPiece, kLongestPiece);
  // Long enough that the number of pieces fits the count.
  piece_ = std::max((wanted / size_ + line - 1) / line * line, share / (kCountMask / 2) / line * line + line);
  streaming_ = channels.exceeds_cache(shares_.total() * size_);

  const std::uint64_t none = meeting.number() << kNumberShift;
  RankControl& control = channels.layout().control(channels.rank());
  control.claimed.store(none, std::memory_order_relaxed);  // published by the stamp
  control.finished.store(none, std::memory_order_relaxed);
  const Offer mine = reach.offer(operation, input_bytes(operation, channels.rank(), channels.size()),
                                 output_bytes(operation, channels.rank(), channels.size()));
  meeting_.enter_with_offer(&mine, sizeof(mine));
}

const Offer& Direct::offer(int rank) const noexcept {
  return *reinterpret_cast<const Offer*>(meeting_.data(rank, sizeof(Offer)));
}

StepResult Direct::step() {
  switch (phase_) {
    case Phase::meeting:
      if (!meeting_.meet_all()) return StepResult::blocked;
      decide();
      return StepResult::moved;
    case Phase::mapping:
      return await_verdicts();
    case Phase::working:
      return work();
    case Phase::finishing:
      return all_finished() ? StepResult::done : StepResult::blocked;
    case Phase::declined:
      break;
  }
  return StepResult::blocked;
}

void Direct::decide() {
  const int ranks = channels_.size();
  bool agreed = true;
  for (int r = 0; r < ranks; ++r) {
    if (!meeting_.has_offer(r)) {
      phase_ = Phase::declined;
      return;
    }
    agreed = agreed && reach_.is_agreed(r, offer(r));
  }
  if (agreed) {
    phase_ = Phase::working;
    return;
  }
  bool mapped = true;
  for (int r = 0; r < ranks; ++r) mapped = mapped && (reach_.is_agreed(r, offer(r)) || reach_.map(r, offer(r)));
  channels_.layout()
      .control(channels_.rank())
      .verdict.store(meeting_.number() << 1 | (mapped ? 1U : 0U), std::memory_order_seq_cst);
  channels_.bells().notify_all();
  phase_ = Phase::mapping;
}

StepResult Direct::await_verdicts() {
  const int ranks = channels_.size();
  bool mapped = true;
  for (int r = 0; r < ranks; ++r) {
    const std::uint64_t verdict = channels_.layout().control(r).verdict.load(std::memory_order_seq_cst);
    if (verdict >> 1 != meeting_.number()) return StepResult::blocked;
    mapped = mapped && (verdict & 1) != 0;
  }
  if (mapped) {
    for (int r = 0; r < ranks; ++r) reach_.agree(r, offer(r));
    phase_ = Phase::working;
  } else {
    reach_.give_up();
    phase_ = Phase::declined;
  }
  return StepResult::moved;
}

bool Direct::claim(int share, std::uint64_t& piece) noexcept {
  std::atomic<std::uint64_t>& claimed = channels_.layout().control(share).claimed;
  std::uint64_t value = claimed.load(std::memory_order_relaxed);
  const bool own = share == channels_.rank();
  const std::uint64_t end = pieces(share);
  while (value >> kNumberShift == (meeting_.number() & UINT32_MAX)) {
    const std::uint64_t by_owner = value & kCountMask;
    const std::uint64_t by_others = value >> kCountBits & kCountMask;
    if (by_owner + by_others == end) break;
    if (claimed.compare_exchange_weak(value, value + (own ? kByOwner : kByOthers), std::memory_order_relaxed)) {
      // The owner takes pieces from the front, others from the back: a rank that repeats an operation touches the same
      // pages again.
      piece = own ? by_owner : end - 1 - by_others;
      return true;
    }
  }
  return false;
}

StepResult Direct::work() {
  RankControl& mine = channels_.layout().control(channels_.rank());
  for (; helped_ < channels_.size(); ++helped_) {
    const int share = channels_.peer(helped_);
    std::uint64_t piece = 0;
    if (!claim(share, piece)) continue;
    // Sequentially consistent: either a failing rank sees `busy`, or this rank sees the failure; see Engine::quiesce().
    mine.busy.store(1, std::memory_order_seq_cst);
    if (!board_.is_failing()) carry_out(share, piece);
    mine.busy.store(0, std::memory_order_release);
    return StepResult::moved;
  }
  phase_ = Phase::finishing;
  return all_finished() ? StepResult::done : StepResult::moved;
}

void Direct::carry_out(int share, std::uint64_t piece) {
  const int ranks = channels_.size();
  const std::uint64_t from = piece * piece_;
  const std::uint64_t count = std::min(piece_, shares_.length(share) - from);
  const std::uint64_t at = (shares_.begin(share) + from) * size_;
  const void** inputs = channels_.inputs();
  void** outputs = channels_.outputs();
  int sources = 0;
  int targets = 0;
  const OpKind kind = operation_.kind;
  const bool copies = kind == OpKind::allgather || kind == OpKind::broadcast;
  if (copies) {
    const int source = kind == OpKind::allgather ? share : operation_.root;
    inputs[sources++] = reach_.input(source, offer(source)) + (kind == OpKind::allgather ? from * size_ : at);
  } else {
    for (int r = 0; r < ranks; ++r) inputs[sources++] = reach_.input(r, offer(r)) + at;
  }
  const auto add = [&](int r, std::uint64_t offset) {
    std::byte* to = reach_.output(r, offer(r)) + offset;
    if (!copies || to != inputs[0]) outputs[targets++] = to;
  };
  if (kind == OpKind::reduce) {
    add(operation_.root, at);
  } else if (scatters_result(kind)) {
    add(share, from * size_);
  } else {
    // Beginning with this rank, so that ranks do not all write to the same output at the same time.
    for (int d = 0; d < ranks; ++d) add(channels_.peer(d), at);
  }
  if (copies) {
    spi::ReduceTuning plain;
    plain.streamed_outputs = streaming_ ? targets : 0;
    spi::reduce_kernel(Reduction::bit_or, DataType::uint8)(outputs, targets, inputs, 1, count * size_, plain);
  } else {
    spi::ReduceTuning tuning = reduce_tuning(operation_, ranks);
    tuning.streamed_outputs = streaming_ ? targets : 0;
    spi::reduce_kernel(operation_.reduction, operation_.type)(outputs, targets, inputs, sources, count, tuning);
  }
  if (board_.is_failing()) return;  // a rank may have changed its input before it was read
  std::atomic<std::uint64_t>& finished = channels_.layout().control(share).finished;
  if ((finished.fetch_add(1, std::memory_order_seq_cst) & kCountMask) + 1 == pieces(share)) {
    channels_.bells().notify_all();
  }
}

void Direct::detach_output() const noexcept {
  const std::uint64_t bytes = output_bytes(operation_, channels_.rank(), channels_.size());
  if (bytes != 0) (void)spi::detach_shared(operation_.output, bytes);
}

bool Direct::all_finished() noexcept {
  for (; finished_ < channels_.size(); ++finished_) {
    const int share = channels_.peer(finished_);
    const std::uint64_t all = (meeting_.number() << kNumberShift) + pieces(share);
    // A rank that has gone on to a later collective is ahead. Numbers wrap, so the distance is compared.
    const std::uint64_t finished = channels_.layout().control(share).finished.load(std::memory_order_seq_cst);
    if (static_cast<std::int64_t>(finished - all) < 0) return false;
  }
  return true;
}

}  // namespace tutti::native
