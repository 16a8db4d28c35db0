// Views of an engine at work: its timeline, and tensors that wait too long.
#include <algorithm>
#include <set>
#include <utility>

#include "engine/set_engine.hpp"

namespace tutti::horovod {
namespace {

// Ranks answer within about two seconds, unless their host has no time for them.
constexpr std::chrono::nanoseconds kLongestAnswer = std::chrono::seconds(10);

}  // namespace

void SetEngine::start_timeline(const std::string& path, bool marks_cycles) {
  if (is_first_) timeline_.start(path, marks_cycles);
}

void SetEngine::stop_timeline() {
  if (const std::string error = timeline_.stop(); !error.empty()) throw Error(ErrorCode::system, error, "horovod");
}

void SetEngine::show_negotiation(std::span<const RoundMessage> messages) {
  const auto now = Clock::now();
  timeline_.cycle_started(now);
  const auto ready = [&](const std::string& tensor, MessageKind kind, std::size_t rank) {
    timeline_.negotiation_started(tensor, name(kind), now);
    timeline_.rank_ready(tensor, static_cast<int>(rank), now);
  };
  const ResponseCache& cache = controller_.cache();
  for (std::size_t rank = 0; rank < messages.size(); ++rank) {
    for (const Request& request : messages[rank].received) ready(request.name, request.kind, rank);
    const auto& words = messages[rank].hits;
    for (std::uint32_t position = 0; position < std::min(words.size() * 64, cache.positions()); ++position) {
      if ((words[position / 64] >> position % 64 & 1) == 0 || !cache.is_used(position)) continue;
      ready(cache.at(position).names.front(), cache.at(position).kind, rank);
    }
  }
}

void SetEngine::show_begin(const Response& response) {
  const auto now = Clock::now();
  for (const std::string& tensor : response.names) {
    timeline_.negotiation_ended(tensor, now);
    if (response.kind != MessageKind::error) timeline_.operation_started(tensor, name(response.kind), now);
  }
}

void SetEngine::show_end(const Response& response) {
  const auto now = Clock::now();
  for (std::size_t i = 0; i < response.names.size(); ++i) {
    const std::int64_t elements = static_cast<std::int64_t>(response.counts[i]);
    timeline_.operation_ended(response.names[i], tutti::name(response.type), describe_shape({&elements, 1}), now);
  }
}

/// While this rank waits in a round for the others.
void SetEngine::look_into_round() {
  std::set<std::string> tensors;
  {
    const Lock lock(mutex_);
    tensors = queue_.names();
  }
  take(stalls_.in_round(rounds_, tensors, Clock::now()));
}

void SetEngine::take(const StallInspector::Report& report) {
  if (report.is_answer) {
    const Lock lock(mutex_);
    answer_ = report.missing;
    is_answered_ = true;
    driver_left_.notify_all();
    return;
  }
  if (report.empty()) return;
  if (report.shuts_down) {
    stalls_.announce_end(report.message);
    throw Error(ErrorCode::timeout, report.message, "horovod");
  }
  if (shows_stall_) shows_stall_(report.missing);
  const Lock lock(mutex_);
  stall_warning_ = report.message;
  stalled_.clear();
  for (const auto& [rank, tensors] : report.missing) stalled_.insert(tensors.begin(), tensors.end());
}

/// Takes the view of late tensors back when the last of them is complete, or when the engine has ended.
void SetEngine::forget_stalled(std::span<const EntryPointer> complete) {
  {
    const Lock lock(mutex_);
    if (stalled_.empty()) return;
    for (const EntryPointer& entry : complete) stalled_.erase(entry->request.name);
    if (failure_) stalled_.clear();
    if (!stalled_.empty()) return;
  }
  if (shows_stall_) shows_stall_({});
}

StallInspector::Missing SetEngine::missing_ranks(const Entry& entry) {
  stalls_.ask();
  const std::chrono::nanoseconds timeout = entry.operation.timeout;
  const auto patience = timeout.count() == 0 ? kLongestAnswer : std::min(kLongestAnswer, timeout);
  const auto until = Clock::now() + patience;
  Lock lock(mutex_);
  while (!entry.is_done && !failure_ && !answer_ && Clock::now() < until) {
    if (!is_driven_) {
      drive(lock, &entry, until);
      continue;
    }
    ++waiters_;
    driver_left_.wait_until(lock, until, [&] { return entry.is_done || answer_ || failure_ || !is_driven_; });
    --waiters_;
  }
  is_answered_ = false;
  return std::exchange(answer_, std::nullopt).value_or(StallInspector::Missing());
}

std::string SetEngine::stall_warning() const {
  const Lock lock(mutex_);
  return stall_warning_;
}

}  // namespace tutti::horovod
