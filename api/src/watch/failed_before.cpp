#include "watch/failed_before.hpp"

#include <exception>
#include <map>
#include <mutex>
#include <utility>

#include "call/communicator_state.hpp"

namespace tutti::detail::failed_before {
namespace {

/// Jobs of a process are few: it is in one, or makes groups of threads.
constexpr std::size_t kMostJobs = 64;

constexpr const char* kHadFailed = " had failed before: ";

using Place = std::pair<std::string, int>;  // job, rank in it

struct Failures {
  std::mutex mutex;
  std::map<Place, std::string> first;
};

Failures& failures() {
  static auto* instance = new Failures;  // never destroyed: static communicators may be destroyed later
  return *instance;
}

Place place_of(const CommunicatorState& state) {
  return {state.job, state.job_ranks.empty() ? state.rank : state.job_ranks[static_cast<std::size_t>(state.rank)]};
}

}  // namespace

void note(const CommunicatorState& state, const Error& error) noexcept {
  try {
    Failures& all = failures();
    const std::scoped_lock lock(all.mutex);
    if (all.first.size() < kMostJobs) all.first.try_emplace(place_of(state), error.what());
  } catch (const std::exception&) {
    // Out of memory: the others learn that this rank has left, but not why.
  }
}

void show(CommunicatorState& state) noexcept {
  try {
    Failures& all = failures();
    const std::scoped_lock lock(all.mutex);
    const auto found = all.first.find(place_of(state));
    if (found != all.first.end()) state.board_entry.leave_because(found->second);
  } catch (const std::exception&) {
    // As above.
  }
}

Error with_reason(const CommunicatorState& state, const Error& error) {
  const std::string text = error.what();
  if (error.code() != ErrorCode::peer_failure || text.find(kHadFailed) != std::string::npos) return error;
  for (int rank = 0; rank < state.peer_progress.size(); ++rank) {
    const std::string reason = rank == state.rank ? std::string() : state.peer_progress.reason_for_leaving(rank);
    if (reason.empty()) continue;
    return {error.code(), text + " (rank " + std::to_string(rank) + kHadFailed + reason + ")", error.backend(),
            error.vendor_code()};
  }
  return error;
}

}  // namespace tutti::detail::failed_before
