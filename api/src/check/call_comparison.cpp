#include "check/call_comparison.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "call/communicator_state.hpp"
#include "check/call_site.hpp"
#include "watch/progress_snapshot.hpp"

namespace tutti::detail {
namespace {

constexpr auto kAcquire = std::memory_order_acquire;

std::string calls(int rank, const ProgressSnapshot& progress) {
  return "rank " + std::to_string(rank) + " calls " + describe_call(progress);
}

}  // namespace

std::unique_ptr<CallComparison> CallComparison::create(CommunicatorState& state) {
  ProgressSlot* const slot = state.board_entry.slot();
  // Tensors with names may come in another order on each rank.
  if (slot == nullptr || !state.backend->needs_watch() || state.backend->engine() != nullptr) return nullptr;
  auto comparison = std::make_unique<CallComparison>(state, *slot);
  if (comparison->peers_.empty()) return nullptr;
  return comparison;
}

CallComparison::CallComparison(CommunicatorState& state, ProgressSlot& slot)
    : ForwardingCommunicator(*state.backend), state_(state), mine_(slot.marks), size_(state.size) {
  for (int rank = 0; rank < state.size; ++rank) {
    const ProgressSlot* other = rank == state.rank ? nullptr : state.peer_progress.slot(rank);
    if (other != nullptr) peers_.push_back({&other->marks, rank});
  }
}

void CallComparison::do_run(const Operation& operation) {
  enter(operation);
  inner().run(operation);
  if (!is_message(operation.kind)) leave();
}

std::optional<Error> CallComparison::find_mismatch() const {
  for (const Peer& peer : peers_) {
    if (const std::uint64_t number = first_difference(peer); number != 0) return mismatch(peer.rank, number);
  }
  return std::nullopt;
}

void CallComparison::throw_if_confirmed() const {
  auto mismatch = find_mismatch();
  if (!mismatch) return;
  std::string text = mismatch->what();
  // This thread is inside the call, other than the one that watches the ranks.
  if (const std::string site = call_site(); !site.empty()) {
    text += "; rank " + std::to_string(state_.rank) + " calls it at " + site;
  }
  const Error whole(ErrorCode::invalid_usage, text, state_.backend->name());
  // The ranks that are in the library already are told by their watchers.
  state_.board_entry.fail(whole.code(), whole.what());
  (void)state_.backend->interrupt(whole);
  throw Error(whole);
}

std::uint64_t CallComparison::first_difference(const Peer& peer) const noexcept {
  const ProgressSlot& its = *state_.peer_progress.slot(peer.rank);
  std::uint64_t first = 0;
  for (std::size_t place = 0; place < kMarks; ++place) {
    const std::uint64_t mark = mine_[place].load(kAcquire);
    const std::uint64_t other = (*peer.marks)[place].load(kAcquire);
    if (mark == 0 || !differ(mark, other)) continue;
    // The marks have the last bits of the numbers only: both ranks must be at most some numbers further.
    const std::uint64_t mine = state_.call_progress->sequence.load(kAcquire);
    const std::uint64_t ahead = (mine - (mark >> kHashBits)) & kNumberMask;
    if (ahead > mine) continue;
    const std::uint64_t number = mine - ahead;
    const std::uint64_t its_ahead = its.call.sequence.load(kAcquire) - number;
    const bool is_recent = ahead < kFurthest && its_ahead < kFurthest;
    // A mark that has changed meanwhile is of another number.
    const bool is_same = mine_[place].load(kAcquire) == mark && (*peer.marks)[place].load(kAcquire) == other;
    if (is_recent && is_same && (first == 0 || number < first)) first = number;
  }
  // The slot may have been taken for another communicator.
  return state_.peer_progress.is_current(peer.rank) ? first : 0;
}

Error CallComparison::mismatch(int rank, std::uint64_t number) const {
  ProgressSnapshot mine;
  ProgressSnapshot its;
  if (const auto seen = read_slot(*state_.board_entry.slot(), 0)) mine = *seen;
  if (const auto seen = state_.peer_progress.look(rank)) its = *seen;
  std::string first = calls(state_.rank, mine);
  std::string second = calls(rank, its);
  if (rank < state_.rank) std::swap(first, second);
  std::string text = "the ranks of communicator " + state_.name + " do not agree: " + first + ", " + second;
  const bool is_shown = mine.sequence == number && its.sequence == number;
  if (!is_shown) {
    text += "; collective #" + std::to_string(number) + " differs, or one before it; TUTTI_CHECK=1 names it";
  } else if (describe_call(mine) == describe_call(its)) {
    text += "; prescale or block counts differ, or a call before; TUTTI_CHECK=1 names it";
  }
  return Error(ErrorCode::invalid_usage, text, state_.backend->name());
}

}  // namespace tutti::detail
