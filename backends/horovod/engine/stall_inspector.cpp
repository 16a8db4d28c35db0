#include "engine/stall_inspector.hpp"

#include "tutti/spi/printable.hpp"

namespace tutti::horovod {
namespace {

// Upstream's limit of names per rank.
constexpr std::size_t kMostNames = 6;
constexpr std::size_t kLongestName = 200;

std::string names_of(const std::set<std::string>& tensors) {
  std::string text;
  std::size_t count = 0;
  for (const std::string& tensor : tensors) {
    if (count == kMostNames) return text;
    if (count > 0) text += ", ";
    text += spi::printable(tensor, kLongestName);
    if (++count == kMostNames) text += " ...";
  }
  return text;
}

}  // namespace

StallInspector::StallInspector(Options options, int size, Time start)
    : options_(options), size_(size), last_check_(start) {}

void StallInspector::submitted(const std::string& tensor, int rank, Time now) {
  if (!options_.enabled) return;
  waiting_.try_emplace(tensor, Waiting{{}, now}).first->second.ranks.insert(rank);
}

void StallInspector::completed(const std::string& tensor) { waiting_.erase(tensor); }

void StallInspector::cached(const std::string& tensor, Time now) {
  if (options_.enabled) cached_.try_emplace(tensor, now);
}

void StallInspector::cached_completed(const std::string& tensor) { cached_.erase(tensor); }

std::vector<std::string> StallInspector::late_cached(Time now) const {
  std::vector<std::string> late;
  for (const auto& [tensor, since] : cached_) {
    if (now - since > options_.warning) late.push_back(tensor);
  }
  return late;
}

bool StallInspector::is_due(Time now) const noexcept {
  return options_.enabled && now - last_check_ > options_.warning;
}

bool StallInspector::can_shut_down() const noexcept {
  return options_.shutdown.count() > 0 && options_.shutdown >= options_.warning;
}

StallInspector::Report StallInspector::check(Time now, const std::set<int>& joined) {
  last_check_ = now;
  Report report;
  if (!options_.enabled) return report;
  std::set<int> doomed;
  for (const auto& [tensor, waiting] : waiting_) {
    const auto late = now - waiting.since;
    if (late <= options_.warning) continue;
    for (int rank = 0; rank < size_; ++rank) {
      if (waiting.ranks.contains(rank) || joined.contains(rank)) continue;
      report.missing[rank].insert(tensor);
      if (can_shut_down() && late > options_.shutdown) doomed.insert(rank);
    }
  }
  if (report.missing.empty()) return report;
  report.shuts_down = !doomed.empty();
  report.message = message_of(report, doomed);
  return report;
}

StallInspector::Report StallInspector::answer(const std::set<int>& joined) const {
  Report report{.message = {}, .is_answer = true, .missing = {}};
  for (const auto& [tensor, waiting] : waiting_) {
    for (int rank = 0; rank < size_; ++rank) {
      if (!waiting.ranks.contains(rank) && !joined.contains(rank)) report.missing[rank].insert(tensor);
    }
  }
  return report;
}

// The wording is upstream's: programs and people search logs for it.
std::string StallInspector::message_of(const Report& report, const std::set<int>& doomed) const {
  std::string text =
      "One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting "
      "for "
      "remainder of ranks for more than " +
      std::to_string(options_.warning.count()) +
      " seconds. This may indicate that different ranks are trying to submit different tensors or that only subset of "
      "ranks is submitting tensors, which will cause deadlock. \nMissing ranks:";
  for (const auto& [rank, tensors] : report.missing) {
    text += '\n' + std::to_string(rank) + (doomed.contains(rank) ? "!" : "") + ": [" + names_of(tensors) + ']';
  }
  if (!doomed.empty()) {
    text += "\nOne or more rank (marked by \"!\") is stalled for longer than " +
            std::to_string(options_.shutdown.count()) + " seconds. Will shutdown.";
  }
  return text;
}

std::string StallInspector::conflict() const {
  if (options_.shutdown.count() == 0 || can_shut_down()) return {};
  return "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS is less than HOROVOD_STALL_CHECK_TIME_SECONDS, will not shutdown.";
}

}  // namespace tutti::horovod
