#include "watch/progress_snapshot.hpp"

#include <algorithm>
#include <string>

#include "watch/progress_board.hpp"

namespace tutti {
namespace detail {
namespace {

constexpr auto kAcquire = std::memory_order_acquire;
// A rank that calls without a pause may never stand still for a reader, whose values are then of different moments.
constexpr int kMostLooks = 8;

template <typename Enum>
Enum checked(std::uint64_t value, std::size_t count) noexcept {
  return static_cast<Enum>(value < count ? value : 0);
}

void decode_words(std::uint64_t words, ProgressSnapshot& to) noexcept {
  to.kind = checked<OpKind>(words & 0xFF, kOpKindCount);
  to.type = checked<DataType>(words >> 8 & 0xFF, kDataTypes.size());
  to.reduction = checked<Reduction>(words >> 16 & 0xFF, kReductionCount);
  const std::uint64_t flags = words >> 24 & 0xFF;
  to.grouped = (flags & spi::CallProgress::kGroup) != 0;
  to.started = (flags & spi::CallProgress::kStarts) != 0;
  to.root = static_cast<std::int32_t>(words >> 32);
}

void read_call(const spi::CallProgress& call, ProgressSnapshot& to) noexcept {
  for (int look = 0; look < kMostLooks; ++look) {
    const std::uint64_t before = call.activity();
    to.left = call.left.load(kAcquire);
    to.ticks = call.ticks.load(kAcquire);
    to.waited = call.waited.load(kAcquire);
    to.waits = call.waits.load(kAcquire);
    to.sequence = call.sequence.load(kAcquire);
    decode_words(call.what.load(kAcquire), to);
    to.count = call.count.load(kAcquire);
    const bool is_dated = call.since_activity.load(kAcquire) == to.activity();
    to.since_ns = is_dated ? call.since_ns.load(kAcquire) : 0;
    if (call.activity() == before && to.activity() == before) break;
  }
  to.pending = call.pending.load(kAcquire);
  to.thread = call.thread.load(kAcquire);
}

CommunicatorStage stage_of(SlotState state) noexcept {
  switch (state) {
    case SlotState::active:
      return CommunicatorStage::active;
    case SlotState::failed:
      return CommunicatorStage::failed;
    case SlotState::destroyed:
    case SlotState::exited:
    case SlotState::closing:
      return CommunicatorStage::destroyed;
    default:
      return CommunicatorStage::creating;
  }
}

void read_stall(const ProgressSlot& slot, CommunicatorProgress& to) {
  for (int look = 0; look < kMostLooks; ++look) {
    const std::uint32_t before = slot.stall_writes.load(kAcquire);
    to.stalled_by = slot.stalled_by.load(std::memory_order_relaxed);
    to.stall = slot.stall.read();
    std::atomic_thread_fence(kAcquire);
    if (before % 2 == 0 && slot.stall_writes.load(std::memory_order_relaxed) == before) break;
    to.stall.clear();
  }
  if (to.stall.empty() || to.stalled_by < 0 || to.stalled_by >= to.size) to.stalled_by = -1;
}

}  // namespace

std::optional<ProgressSnapshot> read_slot(const ProgressSlot& slot, std::uint32_t generation) noexcept {
  const std::uint32_t state = slot.state.load(kAcquire);
  const auto is_same = [&] { return generation == 0 || slot.generation.load(kAcquire) == generation; };
  if (state == static_cast<std::uint32_t>(SlotState::free) || state >= kSlotStates || !is_same()) return std::nullopt;
  ProgressSnapshot snapshot;
  snapshot.stage = stage_of(static_cast<SlotState>(state));
  read_call(slot.call, snapshot);
  if (!is_same()) return std::nullopt;
  return snapshot;
}

std::optional<CommunicatorProgress> read_whole_slot(const ProgressSlot& slot) {
  const std::optional<ProgressSnapshot> snapshot = read_slot(slot, 0);
  if (!snapshot) return std::nullopt;
  CommunicatorProgress whole;
  static_cast<ProgressSnapshot&>(whole) = *snapshot;
  whole.communicator = slot.communicator.load(kAcquire);
  whole.job = slot.job.read();
  whole.name = slot.name.read();
  whole.backend = slot.backend.read();
  whole.device = slot.device.read();
  whole.rank = slot.rank.load(kAcquire);
  whole.size = slot.size.load(kAcquire);
  whole.job_rank = slot.job_rank.load(kAcquire);
  whole.ranks_here = slot.ranks_here.load(kAcquire);
  if (whole.size < 1 || whole.rank < 0 || whole.rank >= whole.size) return std::nullopt;
  if (whole.stage == CommunicatorStage::failed) {
    whole.failure_code = static_cast<ErrorCode>(slot.failure_code.load(kAcquire));
    whole.failure = slot.failure.read();
  }
  if (whole.stage == CommunicatorStage::active) read_stall(slot, whole);
  return whole;
}

}  // namespace detail

std::string describe_call(const ProgressSnapshot& progress) {
  if (!progress.has_called()) return "no call";
  const OpTraits& row = traits(progress.kind);
  std::string text(row.name);
  if (row.reduces) text.append("(").append(name(progress.reduction)).append(")");
  if (!is_message(progress.kind)) text += " #" + std::to_string(progress.sequence);
  if (progress.kind != OpKind::barrier && progress.kind != OpKind::alltoallv) {
    text += " of " + std::to_string(progress.count) + " " + std::string(name(progress.type)) + " (" +
            format_bytes(progress.count * size_of(progress.type)) + ")";
  }
  if (row.rooted) {
    const char* word = progress.kind == OpKind::send   ? " to rank "
                       : progress.kind == OpKind::recv ? " from rank "
                                                       : " with root ";
    text += word + std::to_string(progress.root);
  }
  if (progress.grouped) text = "group up to " + text;
  if (progress.is_in_call() || progress.waits == progress.waited) return text;
  return "wait for " + std::to_string(std::max(progress.pending, 1U)) + " started, the last " + text;
}

}  // namespace tutti
