#include <array>
#include <cstdio>
#include <string>

#include "watch/peer_progress.hpp"

namespace tutti::detail {
namespace {

// A message with more ranks is hard to read; the first ones tell enough.
constexpr std::size_t kMostNamed = 8;

std::string rank_text(const RankView& view) {
  std::string text = "rank " + std::to_string(view.rank);
  if (view.pid != 0) text += " (pid " + std::to_string(view.pid) + ")";
  return text;
}

/// "12.3 s"; empty if it is not known since when.
std::string age(const ProgressSnapshot& progress, std::int64_t now_ns) {
  if (progress.since_ns <= 0 || progress.since_ns > now_ns) return {};
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f s", static_cast<double>(now_ns - progress.since_ns) * 1e-9);
  return text.data();
}

/// "it left barrier #40 12.3 s ago and is not in a call".
std::string last_doing(const ProgressSnapshot& its, std::int64_t now_ns) {
  const std::string time = age(its, now_ns);
  if (its.is_inside()) return "it is in " + describe_call(its) + (time.empty() ? "" : " for " + time);
  if (!its.has_called()) return "it has made no call yet" + (time.empty() ? "" : " for " + time);
  return "it left " + describe_call(its) + (time.empty() ? "" : " " + time + " ago") + " and is not in a call";
}

bool is_same_call(const ProgressSnapshot& a, const ProgressSnapshot& b) noexcept {
  return a.kind == b.kind && a.root == b.root && a.type == b.type &&
         (!traits(a.kind).reduces || a.reduction == b.reduction);
}

/// Empty for a rank that is not late.
std::string late_text(const ProgressSnapshot& mine, const RankView& view, std::int64_t now_ns) {
  const ProgressSnapshot& its = *view.progress;
  switch (its.stage) {
    case CommunicatorStage::destroyed:
      return rank_text(view) + " has destroyed its communicator";
    case CommunicatorStage::failed:
      return rank_text(view) + " has failed" + (view.failure.empty() ? "" : ": " + view.failure);
    case CommunicatorStage::creating:
      return rank_text(view) + " is still creating the communicator";
    case CommunicatorStage::active:
      break;
  }
  const bool is_message_of_mine = is_message(mine.kind) && (mine.ticks & 1) != 0;
  if (is_message_of_mine) {
    return view.rank == mine.root ? rank_text(view) + ": " + last_doing(its, now_ns) : std::string();
  }
  if (its.sequence < mine.sequence) {
    const std::uint64_t behind = mine.sequence - its.sequence;
    std::string text = rank_text(view) + " has not entered " + describe_call(mine);
    if (behind > 1) text += ", " + std::to_string(behind) + " operations behind";
    return text + ": " + last_doing(its, now_ns);
  }
  const bool is_mismatch = its.sequence == mine.sequence && its.sequence > its.left && mine.sequence > mine.left &&
                           !its.grouped && !mine.grouped && !is_same_call(its, mine);
  return is_mismatch ? rank_text(view) + " is in " + describe_call(its) + " instead of " + describe_call(mine)
                     : std::string();
}

}  // namespace

std::string describe_late(const ProgressSnapshot& mine, std::span<const RankView> others, std::int64_t now_ns) {
  std::string text;
  std::size_t named = 0;
  std::size_t late = 0;
  std::string unknown;
  const auto add = [](std::string& to, const char* between, const std::string& part) {
    to += (to.empty() ? "" : between) + part;
  };
  for (const RankView& view : others) {
    if (!view.progress) {
      add(unknown, ", ", std::to_string(view.rank));
      continue;
    }
    const std::string words = late_text(mine, view, now_ns);
    if (words.empty()) continue;
    if (++late > kMostNamed) continue;
    ++named;
    add(text, "; ", words);
  }
  if (late > named) text += "; and " + std::to_string(late - named) + " more ranks are late";
  if (text.empty() && unknown.empty()) text = "all ranks have entered " + describe_call(mine);
  if (!unknown.empty()) add(text, "; ", "nothing is known of rank " + unknown + ", which this rank cannot see");
  return text;
}

}  // namespace tutti::detail
