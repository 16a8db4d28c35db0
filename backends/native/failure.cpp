#include "failure.hpp"

#include <algorithm>

#include "call.hpp"

namespace tutti::native {
namespace {

std::string rank_text(int rank) { return "rank " + std::to_string(rank); }

}  // namespace

FailureBoard::FailureBoard(const Channels& channels, std::vector<bool> same_process)
    : channels_(channels), record_(channels.layout().header().failure), same_process_(std::move(same_process)) {}

Failure FailureBoard::read() const {
  const auto code = static_cast<ErrorCode>(record_.code);
  if (code == ErrorCode::aborted) return {code, rank_text(record_.culprit) + " aborted the communicator"};
  const std::string text = record_.text.data();
  if (record_.culprit >= 0) return {code, text};  // the same text, whichever rank noticed
  return {code, record_.reporter == channels_.rank() ? text : rank_text(record_.reporter) + " reports: " + text};
}

void FailureBoard::post(ErrorCode code, int culprit, std::string_view text) const noexcept {
  std::uint32_t expected = FailureRecord::kNone;
  if (record_.state.compare_exchange_strong(expected, FailureRecord::kBeingWritten, std::memory_order_acq_rel)) {
    record_.code = static_cast<std::int32_t>(code);
    record_.culprit = culprit;
    record_.reporter = channels_.rank();
    const std::size_t length = std::min(text.size(), record_.text.size() - 1);
    std::copy_n(text.data(), length, record_.text.data());
    record_.text[length] = '\0';
    record_.state.store(FailureRecord::kSet, std::memory_order_seq_cst);
  }
  channels_.bells().alarm();
}

std::optional<int> FailureBoard::find_dead() const noexcept {
  for (int r = 0; r < channels_.size(); ++r) {
    if (is_in_this_process(r) || channels_.segment().is_held(r)) continue;
    // A rank that leaves sets its state before it releases the lock, so check the state last.
    if (!has_left(r)) return r;
  }
  return std::nullopt;
}

std::string FailureBoard::end_of(int rank) const {
  const RankControl& control = channels_.layout().control(rank);
  if (control.state.load(std::memory_order_acquire) != RankState::exited) {
    return " died (killed, crashed or ended by _exit())";
  }
  return " exited with code " + std::to_string(control.exit_code.load(std::memory_order_relaxed)) +
         " without destroying its communicator";
}

bool FailureBoard::has_left(int rank) const noexcept {
  return channels_.layout().control(rank).state.load(std::memory_order_acquire) == RankState::left;
}

std::optional<int> FailureBoard::find_left(std::uint64_t collective) const noexcept {
  for (int r = 0; r < channels_.size(); ++r) {
    // The rank had left when its position was read, so it gets no further.
    if (r != channels_.rank() && has_left(r) && position(r).entered < collective) return r;
  }
  return std::nullopt;
}

FailureBoard::Position FailureBoard::position(int rank) const noexcept {
  const Layout& layout = channels_.layout();
  Position result = {0, layout.control(rank).completed.load(std::memory_order_acquire)};
  for (std::uint64_t k = 0; k < kMailboxDepth; ++k) {
    result.entered = std::max(result.entered, layout.mailbox(rank, k).slot.stamp.load(std::memory_order_acquire));
  }
  return result;
}

std::string FailureBoard::whereabouts(int rank) const {
  const Position at = position(rank);
  if (has_left(rank)) return rank_text(rank) + " has destroyed its communicator";
  if (at.completed >= at.entered) return rank_text(rank) + " is not in a collective";
  return rank_text(rank) + " is in " + short_name(Call::load(channels_.layout().mailbox(rank, at.entered).record));
}

std::string FailureBoard::who_is_late(std::uint64_t collective) const {
  std::string text;
  for (int r = 0; r < channels_.size(); ++r) {
    const Position at = position(r);
    if (r == channels_.rank() || at.entered >= collective) continue;
    if (!text.empty()) text += ", ";
    const bool elsewhere = at.completed < at.entered;
    text += rank_text(r);
    if (elsewhere)
      text += " is still in " + short_name(Call::load(channels_.layout().mailbox(r, at.entered).record));
    else
      text += " has not entered";
  }
  return text.empty() ? "all ranks have entered" : text;
}

}  // namespace tutti::native
