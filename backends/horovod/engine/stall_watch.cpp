#include "engine/stall_watch.hpp"

#include <algorithm>
#include <exception>
#include <vector>

namespace tutti::horovod {
namespace {

// Ranks that wait in a round look for a question as often as the one that asks looks for answers. A count instead of a
// time, so that ranks on a host that was stopped are not missing.
constexpr int kAnswerLooks = 6;
// A tensor is late at most this part of the warning time after it could be known.
constexpr int kLooks = 4;
constexpr const char* kEnd = "end";

}  // namespace

StallWatch::StallWatch(const StallInspector::Options& options, Rendezvous meeting)
    : options_(options),
      inspector_(options, meeting.size(), std::chrono::steady_clock::now()),
      meeting_(std::move(meeting)),
      next_look_(std::chrono::steady_clock::now() + options.warning / kLooks) {}

/// Replaces the tensors that the inspector has; a tensor that it had before keeps its time.
void StallWatch::note(const std::vector<Missing>& incomplete, Time since) {
  for (const auto& [name, time] : known_) inspector_.completed(name);
  std::map<std::string, Time> known;
  for (const auto& [name, submitted] : incomplete) {
    const auto before = known_.find(name);
    const Time time = before == known_.end() ? since : before->second;
    known.emplace(name, time);
    for (const int rank : submitted) inspector_.submitted(name, rank, time);
  }
  known_ = std::move(known);
}

std::set<int> StallWatch::all_ranks() const {
  std::set<int> ranks;
  for (int rank = 0; rank < meeting_.size(); ++rank) ranks.insert(rank);
  return ranks;
}

StallInspector::Report StallWatch::after_round(std::span<const RoundMessage> messages, const Controller& controller,
                                               Time now) {
  is_waiting_ = false;
  const bool is_asked = is_asked_.load(std::memory_order_relaxed);
  if (!options_.enabled || (now < next_look_ && !is_asked)) return {};
  next_look_ = now + options_.warning / kLooks;
  std::vector<Missing> incomplete;
  for (const MessageTable::Incomplete& tensor : controller.table().incomplete()) {
    Missing& one = incomplete.emplace_back(tensor.name, all_ranks());
    for (const int rank : tensor.missing) one.second.erase(rank);
  }
  const ResponseCache& cache = controller.cache();
  for (std::uint32_t position = 0; position < cache.positions(); ++position) {
    if (!cache.is_used(position)) continue;
    std::set<int> submitted;
    for (std::size_t rank = 0; rank < messages.size(); ++rank) {
      const auto& words = messages[rank].hits;
      const bool has = position / 64 < words.size() && (words[position / 64] >> position % 64 & 1) != 0;
      if (has || controller.table().is_joined(static_cast<int>(rank))) submitted.insert(static_cast<int>(rank));
    }
    const bool is_late = !submitted.empty() && submitted.size() < messages.size();
    if (is_late) incomplete.emplace_back(cache.at(position).names.front(), std::move(submitted));
  }
  note(incomplete, now);
  if (!inspector_.is_due(now) && !is_asked) return {};
  std::set<int> joined;
  for (int rank = 0; rank < meeting_.size(); ++rank) {
    if (controller.table().is_joined(rank)) joined.insert(rank);
  }
  if (is_asked) {
    is_asked_.store(false, std::memory_order_relaxed);
    return inspector_.answer(joined);
  }
  return inspector_.check(now, joined);
}

std::string StallWatch::key_of(const char* what, int rank) const {
  return what + std::to_string(round_) + "." + std::to_string(rank);
}

StallInspector::Report StallWatch::in_round(std::uint64_t round, const std::set<std::string>& tensors, Time now) {
  if (!options_.enabled) return {};
  if (!is_waiting_ || round != round_) {
    is_waiting_ = true;
    has_answered_ = false;
    round_ = round;
    since_ = now;
    looks_ = 0;
  }
  const bool is_asked = is_asked_.load(std::memory_order_relaxed);
  try {
    const bool asks = looks_ == 0 && (is_asked || now - since_ > options_.warning);
    if (asks || looks_ > 0) ++looks_;
    if (asks) {
      if (!meeting_.find(key_of("ask", 0))) meeting_.put(key_of("ask", 0), "");
    }
    if (!has_answered_ && (asks || meeting_.find(key_of("ask", 0)))) {
      has_answered_ = true;
      meeting_.put(key_of("here", meeting_.rank()), "");
    }
    if (looks_ < kAnswerLooks || (!inspector_.is_due(now) && !is_asked)) return {};
    std::set<int> present;
    for (const int rank : all_ranks()) {
      if (meeting_.find(key_of("here", rank))) present.insert(rank);
    }
    std::vector<Missing> incomplete;
    for (const std::string& name : tensors) incomplete.emplace_back(name, present);
    note(incomplete, since_);
  } catch (const std::exception&) {
    return {};  // two ranks asked at once, or the store has ended with the job
  }
  if (is_asked) {
    is_asked_.store(false, std::memory_order_relaxed);
    return inspector_.answer();
  }
  return inspector_.check(now);
}

void StallWatch::announce_end(const std::string& message) noexcept {
  try {
    meeting_.put(kEnd, message);
  } catch (const std::exception&) {
    // Another rank was first, or the job's store has ended already.
  }
}

std::optional<std::string> StallWatch::announced_end() noexcept {
  try {
    return meeting_.find(kEnd);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace tutti::horovod
