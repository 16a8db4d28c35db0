#include <algorithm>
#include <functional>

#include "base/table.hpp"
#include "sinks/arrivals.hpp"
#include "sinks/breakdown.hpp"
#include "sinks/wording.hpp"

namespace tutti::profiling {
namespace {

using base::Align;

/// More ranks than this are not listed: the worst are first.
constexpr std::size_t kMostRanks = 16;

std::string count_of(std::uint64_t count, const char* thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string ranks_table(const Profile& profile, const CommunicatorArrivals& communicator, const base::Style& style,
                        std::size_t width) {
  std::vector<std::pair<int, RankArrivals>> worst(communicator.ranks.begin(), communicator.ranks.end());
  std::ranges::stable_sort(worst, std::greater<>{},
                           [](const auto& rank) { return std::pair(rank.second.others_waited_ns, rank.second.last); });
  const std::size_t left_out = worst.size() - std::min(worst.size(), kMostRanks);
  worst.resize(worst.size() - left_out);
  base::Table table({{"rank", Align::right},
                     {"last", Align::right},
                     {"last %", Align::right},
                     {"others waited", Align::right},
                     {"per time last", Align::right},
                     {"own waiting", Align::right},
                     {"transfer", Align::right},
                     {"host"}});
  for (const auto& [number, rank] : worst) {
    const ProcessRow* process = row_at(profile.processes, rank.process);
    table.add(
        {std::to_string(number), std::to_string(rank.last),
         share_cell(static_cast<double>(rank.last), static_cast<double>(rank.operations)),
         time_cell(rank.others_waited_ns),
         rank.last == 0 ? "" : time_cell(static_cast<double>(rank.others_waited_ns) / static_cast<double>(rank.last)),
         time_cell(rank.waited_ns), time_cell(rank.transfer_ns),
         process == nullptr || !communicator.several_hosts ? "" : name_cell(process->host)});
  }
  return table.render_parts(style, width, 1) +
         (left_out > 0 ? note(count_of(left_out, "more rank") + " kept the others waiting less.", width) : "") + "\n";
}

std::string kinds_table(const CommunicatorArrivals& communicator, const base::Style& style, std::size_t width) {
  constexpr std::size_t kMostRows = 10;
  std::vector<std::pair<OperationKind, OperationArrivals>> worst(communicator.kinds.begin(), communicator.kinds.end());
  std::ranges::stable_sort(worst, std::greater<>{}, [](const auto& kind) { return kind.second.waited_ns; });
  const std::size_t left_out = worst.size() - std::min(worst.size(), kMostRows);
  worst.resize(worst.size() - left_out);
  base::Table table({{"op"},
                     {"size", Align::right},
                     {"label"},
                     {"region"},
                     {"calls", Align::right},
                     {"waiting", Align::right},
                     {"transfer", Align::right},
                     {"waiting %", Align::right},
                     {"mostly last"}});
  for (const auto& [kind, sum] : worst) {
    const auto last = std::ranges::max_element(sum.last, {}, [](const auto& rank) { return rank.second; });
    const auto waited = static_cast<double>(sum.waited_ns);
    table.add({name_cell(kind.operation), base::format_bytes(kind.bytes), name_cell(kind.label), name_cell(kind.region),
               count_cell(sum.operations), time_cell(sum.waited_ns), time_cell(sum.transfer_ns),
               share_cell(waited, waited + static_cast<double>(sum.transfer_ns)),
               "rank " + std::to_string(last->first) + " (" +
                   share_cell(static_cast<double>(last->second), static_cast<double>(sum.operations)) + ")"});
  }
  return table.render_parts(style, width, 2) +
         (left_out > 0 ? note(count_of(left_out, "more kind") + " of operations waited less.", width) : "") + "\n";
}

/// Reason why a rank's records are missing, as far as its process tells.
std::string reason_of(const Profile& profile, std::uint64_t key, int rank) {
  for (const CommunicatorRow& member : profile.communicators) {
    if (member.key != key || member.rank != rank) continue;
    const ProcessRow* process = row_at(profile.processes, member.process);
    if (process == nullptr) continue;
    if (!process->ended) return "its process did not end in order";
    if (process->dropped + process->dropped_events > 0) return "its session ran out of memory";
    return "it did not record them";
  }
  return "it recorded nothing";
}

std::string incomplete_note(const Profile& profile, const CommunicatorArrivals& communicator, std::size_t width) {
  std::string text;
  if (communicator.incomplete > 0) {
    constexpr std::size_t kMostNamed = 8;
    std::string ranks;
    std::size_t named = 0;
    for (const auto& [rank, times] : communicator.missing) {
      if (++named > kMostNamed) continue;
      ranks += (ranks.empty() ? "" : "; ") + ("rank " + std::to_string(rank)) + " lacks " + std::to_string(times) +
               ": " + reason_of(profile, communicator.key, rank);
    }
    if (named > kMostNamed) ranks += "; " + count_of(named - kMostNamed, "more rank");
    text += note("INCOMPLETE: " + count_of(communicator.incomplete, "operation") +
                     " not compared, because a rank's record is missing (" + ranks + ").",
                 width);
  }
  if (communicator.unequal > 0) {
    text += note("INCOMPLETE: " + count_of(communicator.unequal, "operation") +
                     " not compared, because the ranks' records of the same number are of different operations.",
                 width);
  }
  return text;
}

std::string communicator_text(const Profile& profile, const CommunicatorArrivals& communicator,
                              const base::Style& style, std::size_t width) {
  std::string text =
      heading(style, "Arrivals on " + (communicator.name.empty() ? "a communicator" : name_cell(communicator.name)) +
                         " | " + count_of(static_cast<std::uint64_t>(std::max(communicator.size, 0)), "rank") + " | " +
                         count_of(communicator.compared, "operation") + " compared" +
                         (communicator.incomplete + communicator.unequal > 0 ? " | incomplete" : ""));
  if (communicator.compared > 0) {
    text += ranks_table(profile, communicator, style, width);
    text += kinds_table(communicator, style, width);
  }
  text += incomplete_note(profile, communicator, width);
  if (communicator.several_hosts) {
    std::string clocks =
        "The ranks ran on several hosts: times of arrival are compared by the hosts' own clocks, and "
        "are as good as these agree.";
    if (communicator.clock_error_ns > 0) {
      clocks += " They disagree by at least " + time_cell(communicator.clock_error_ns) +
                ": an operation ended on one rank before another arrived. Shorter waiting means nothing.";
    }
    text += note(clocks, width);
  }
  return text + (text.ends_with("\n\n") ? "" : "\n");
}

double overlap_of(const RankOverlap& rank) {
  return rank.asynchronous_ns == 0 ? 1 : static_cast<double>(rank.free_ns) / static_cast<double>(rank.asynchronous_ns);
}

std::string overlap_text(const Profile& profile, const base::Style& style, std::size_t width) {
  std::vector<RankOverlap> ranks = measure_overlap(profile);
  if (ranks.empty()) return {};
  const std::string title = heading(style, "Overlap of communication and computation");
  if (std::ranges::all_of(ranks, [](const RankOverlap& rank) { return rank.asynchronous == 0; })) {
    return title + note("none seen: no rank recorded a call while one of its operations was under way.", width) + "\n";
  }
  const std::size_t left_out = ranks.size() - std::min(ranks.size(), kMostRanks);
  if (left_out > 0) std::ranges::stable_sort(ranks, {}, overlap_of);
  ranks.resize(ranks.size() - left_out);
  base::Table table({{"rank", Align::right},
                     {"operations", Align::right},
                     {"asynchronous", Align::right},
                     {"their time", Align::right},
                     {"thread free", Align::right},
                     {"overlap", Align::right}});
  bool sees_all_calls = true;
  for (const RankOverlap& rank : ranks) {
    std::vector<std::string> cells = {rank_name(profile, rank.process), std::to_string(rank.operations),
                                      std::to_string(rank.asynchronous), time_cell(rank.asynchronous_ns)};
    if (rank.asynchronous > 0 && rank.sees_calls) {
      cells.push_back(time_text(static_cast<double>(rank.free_ns)));
      cells.push_back(share_cell(static_cast<double>(rank.free_ns), static_cast<double>(rank.asynchronous_ns)));
    } else if (rank.asynchronous > 0) {
      // Without single calls the thread seems free while it waits: no number is better than a wrong one.
      sees_all_calls = false;
      cells.insert(cells.end(), {"", "unknown"});
    }
    table.add(std::move(cells));
  }
  std::string words =
      "asynchronous: their thread began something else before they ended; an operation during which it called nothing "
      "that is recorded is not seen as such. thread free: it was in no recorded call while one of them was under way, "
      "so it could compute; nothing shows that it did.";
  if (!sees_all_calls) {
    words +=
        " unknown: single calls were not recorded, so that waiting is not seen; record a timeline (tutti prof -l).";
  }
  if (left_out > 0) words += " " + count_of(left_out, "more rank") + " overlapped more.";
  return title + table.render_parts(style, width, 1) + "\n" + note(words, width) + "\n";
}

}  // namespace

std::string arrivals_text(const Profile& profile, const TextOptions& text) {
  const base::Style style(text.colour);
  const std::vector<CommunicatorArrivals> communicators = compare_arrivals(profile);
  std::string out;
  bool compared = false;
  for (const CommunicatorArrivals& communicator : communicators) {
    out += communicator_text(profile, communicator, style, text.width);
    compared = compared || communicator.compared > 0;
  }
  if (compared) {
    out += note(
               "last: the rank came last. others waited: waiting of the other ranks at these operations, summed. "
               "waiting: from a rank's arrival to the last rank's, at most its whole call; transfer: the rest of its "
               "call. Where no rank is slow, each comes last equally often and the others wait little.",
               text.width) +
           "\n";
  }
  return out + overlap_text(profile, style, text.width);
}

}  // namespace tutti::profiling
