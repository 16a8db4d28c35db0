#include "watch/watched_ranks.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "call/communicator_state.hpp"
#include "tutti/spi/backend.hpp"
#include "watch/progress_board.hpp"
#include "watch/progress_snapshot.hpp"

namespace tutti::detail {
namespace {

/// Looks after which a process that has ended counts as dead: it may have destroyed the communicator just before.
constexpr int kLooksGone = 2;
/// Looks in one call after which a rank that has left counts as missing, where its number of operations is no proof.
constexpr int kLooksLeft = 8;
/// Looks per question to the job's store, which knows of ranks on other hosts.
constexpr std::uint64_t kLooksPerQuestion = 4;
constexpr const char* kGaveUp = " gave up: ";

bool has_ended(int process) noexcept {
  pollfd entry{process, POLLIN, 0};
  return process >= 0 && poll(&entry, 1, 0) == 1;
}

bool is_in_collective(const spi::CallProgress& call) noexcept {
  return call.sequence.load(std::memory_order_acquire) > call.left.load(std::memory_order_acquire);
}

bool is_inside(const spi::CallProgress& call) noexcept {
  const bool is_in_message = (call.ticks.load(std::memory_order_acquire) & 1) != 0;
  const bool waits = call.waits.load(std::memory_order_acquire) > call.waited.load(std::memory_order_acquire);
  return is_in_collective(call) || is_in_message || waits;
}

std::string name_of(int rank, std::int64_t pid) {
  return "rank " + std::to_string(rank) + (pid != 0 ? " (pid " + std::to_string(pid) + ")" : "");
}

/// The error of this rank after that of another one. A late rank is late for all, an abort is for all, and so is a
/// mismatch of calls.
Error failure_after(const std::string& rank, ErrorCode code, const std::string& text) {
  const bool is_for_all = code == ErrorCode::aborted || code == ErrorCode::timeout || code == ErrorCode::invalid_usage;
  // The text of a rank that has itself been told by another one says so already.
  const bool is_told = text.find(kGaveUp) != std::string::npos;
  return {is_for_all ? code : ErrorCode::peer_failure, is_told ? text : rank + kGaveUp + text};
}

}  // namespace

WatchedRanks::WatchedRanks(CommunicatorState& state) : state_(state) {
  for (int rank = 0; rank < state.size; ++rank) {
    if (rank == state.rank) continue;
    const std::int64_t pid = state.peer_progress.pid(rank);
    // A pidfd means the same process even if its number is reused.
    const long process = pid > 0 ? syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0) : -1;
    peers_.push_back({rank, spi::FileDescriptor(static_cast<int>(process))});
    has_strangers_ = has_strangers_ || process < 0;
  }
}

void WatchedRanks::look(Clock::time_point now) noexcept {
  if (failure_) {
    // A thread may have been about to enter the library when it was interrupted, or where that was not possible.
    if (is_inside(*state_.call_progress)) (void)state_.backend->interrupt(*failure_);
    return;
  }
  const std::uint64_t activity = state_.call_progress->activity();
  if (activity != activity_) {
    activity_ = activity;
    since_ = now;
    has_reported_ = false;
    for (Peer& peer : peers_) peer.looks_left = 0;
    state_.call_progress->lasts_since(monotonic_ns(), activity);
  }
  try {
    if (const std::optional<Error> cause = find_failure()) return fail(*cause);
    act_on_hang(now);
  } catch (const std::exception&) {
    // Out of memory: the next look tries again.
  }
}

std::optional<Error> WatchedRanks::find_failure() {
  if (has_strangers_ && look_count_++ % kLooksPerQuestion == 0) lost_ = state_.rendezvous.lost();
  // A death is the first cause; failures of other ranks may be consequences of it.
  for (Peer& peer : peers_) {
    if (auto death = find_death(peer)) return death;
  }
  if (state_.comparison != nullptr && is_in_collective(*state_.call_progress)) {
    if (auto mismatch = state_.comparison->find_mismatch()) return mismatch;
  }
  for (Peer& peer : peers_) {
    if (auto departure = find_departure(peer)) return departure;
  }
  return std::nullopt;
}

std::optional<Error> WatchedRanks::find_death(Peer& peer) const {
  const bool is_gone =
      peer.process ? has_ended(peer.process.get()) : std::ranges::find(lost_, peer.rank) != lost_.end();
  if (!is_gone || ++peer.looks_gone < kLooksGone) return std::nullopt;
  const PeerProgress& progress = state_.peer_progress;
  const auto last = progress.look(peer.rank);
  // A rank that has destroyed the communicator has done its part, which find_departure() compares with this rank's.
  if (progress.is_visible(peer.rank) && (!last || last->stage == CommunicatorStage::destroyed)) return std::nullopt;
  std::string text = name_of(peer.rank, progress.pid(peer.rank)) + " has ended without destroying its communicator";
  if (last && last->stage == CommunicatorStage::failed) {
    text += " after a failure: " + progress.failure(peer.rank);
  } else if (last && last->has_called()) {
    text += (last->is_inside() ? "; it was in " : "; its last call was ") + describe_call(*last);
  }
  return Error(ErrorCode::peer_failure, text, state_.backend->name());
}

std::optional<Error> WatchedRanks::find_departure(Peer& peer) const {
  const PeerProgress& progress = state_.peer_progress;
  if (!progress.is_visible(peer.rank)) return std::nullopt;
  const auto its = progress.look(peer.rank);
  const auto name = [&] { return name_of(peer.rank, progress.pid(peer.rank)); };
  if (const ErrorCode code = progress.failure_code(peer.rank); code != ErrorCode::ok) {
    return failure_after(name(), code, progress.failure(peer.rank));
  }
  if (its && its->stage != CommunicatorStage::destroyed) return std::nullopt;
  const spi::CallProgress& mine = *state_.call_progress;
  if (!is_inside(mine)) return std::nullopt;
  const std::uint64_t number = mine.sequence.load(std::memory_order_acquire);
  const bool never_came = is_in_collective(mine) && its && its->sequence < number;
  if (!never_came && ++peer.looks_left < kLooksLeft) return std::nullopt;
  const bool has_exited = progress.has_exited(peer.rank);
  return Error(ErrorCode::peer_failure,
               name() +
                   (has_exited ? " exits without destroying its communicator" : " has destroyed its communicator") +
                   (never_came ? " after " + std::to_string(its->sequence) + " collectives; this rank is in number " +
                                     std::to_string(number)
                               : std::string(" while this rank waits")),
               state_.backend->name());
}

WatchedRanks::Others WatchedRanks::at_exit() noexcept {
  state_.board_entry.exit();
  Others others = Others::have_left;
  for (const Peer& peer : peers_) {
    const PeerProgress& progress = state_.peer_progress;
    if (!progress.is_visible(peer.rank)) continue;
    const auto its = progress.look(peer.rank);
    if (progress.failure_code(peer.rank) != ErrorCode::ok) return Others::have_failed;
    if (!its || its->stage == CommunicatorStage::destroyed) continue;
    if (peer.process && has_ended(peer.process.get())) return Others::have_failed;
    others = Others::stay;
  }
  return others;
}

void WatchedRanks::act_on_hang(Clock::time_point now) {
  if (has_reported_ || now - since_ < state_.hang_time || !is_inside(*state_.call_progress)) return;
  ProgressSnapshot mine;
  if (const ProgressSlot* slot = state_.board_entry.slot()) {
    if (const auto seen = read_slot(*slot, 0)) mine = *seen;
  }
  std::string text = "not complete after " + format_duration(now - since_);
  const std::string late = describe_late(mine, views_of_others(state_.peer_progress, state_.rank), monotonic_ns());
  if (!late.empty()) text += ": " + late;
  const Error cause(ErrorCode::timeout, text + "; the library may still write to the buffers", state_.backend->name());
  if (state_.on_hang == OnHang::error) return fail(cause);
  has_reported_ = true;
  std::fprintf(stderr, "tutti: rank %d of %d in communicator %s: %s %s\n", state_.rank, state_.size,
               state_.name.c_str(), mine.has_called() ? describe_call(mine).c_str() : "operation", cause.what());
  if (state_.on_hang == OnHang::terminate) std::abort();
}

void WatchedRanks::fail(const Error& cause) noexcept {
  failure_ = cause;
  state_.board_entry.fail(cause.code(), cause.what());
  if (state_.backend->interrupt(cause) || state_.on_hang != OnHang::terminate) return;
  std::fprintf(stderr, "tutti: rank %d of %d in communicator %s cannot leave its library: %s\n", state_.rank,
               state_.size, state_.name.c_str(), cause.what());
  std::abort();
}

}  // namespace tutti::detail
