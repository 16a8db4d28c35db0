#include "diagnose/diagnosis.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "text/text.hpp"

namespace tutti::tools {
namespace {

using Rows = std::vector<const RankRow*>;

constexpr std::array<std::string_view, 9> kNames = {"failed", "gone",  "stopped", "uninterruptible", "mismatch",
                                                    "behind", "cycle", "absent",  "stalled"};
constexpr std::size_t kMostListed = 8;

std::string rank_text(const RankRow& row) { return concat("rank ", row.progress.job_rank, " (pid ", row.pid, ")"); }

/// Stands still in a call.
bool waits(const RankRow& row) {
  return row.progress.stage == CommunicatorStage::active && row.progress.is_inside() && !row.has_moved;
}

bool is_stopped(const RankRow& row) { return row.process.state == 'T' || row.process.state == 't'; }

/// "is stopped by a signal; continue it with kill -CONT 17"; empty for a process that can run.
std::string state_text(const RankRow& row) {
  if (is_stopped(row)) return concat("is stopped by a signal; continue it with kill -CONT ", row.pid);
  if (row.process.state == 'D')
    return "is in an uninterruptible sleep: it waits for a disk, a network file or a driver";
  return {};
}

FindingKind kind_of_state(const RankRow& row) {
  return is_stopped(row) ? FindingKind::stopped : FindingKind::uninterruptible;
}

std::vector<int> job_ranks(const Rows& rows) {
  std::vector<int> ranks;
  for (const RankRow* row : rows) ranks.push_back(row->progress.job_rank);
  std::ranges::sort(ranks);
  return ranks;
}

/// "ranks 0 and 1 wait for it in allreduce #41 for 12 s".
std::string waiting_text(const Rows& waiting, std::int64_t now_ns) {
  const RankRow* first = *std::ranges::min_element(
      waiting, {}, [](const RankRow* row) { return row->progress.since_ns > 0 ? row->progress.since_ns : INT64_MAX; });
  const std::string age = age_text(first->progress, now_ns);
  return concat(rank_list(job_ranks(waiting)), waiting.size() == 1 ? " waits" : " wait", " for it in ",
                describe_call(first->progress), age.empty() ? "" : " for ", age);
}

/// The call that a process is in with another communicator; null: none.
const RankRow* waits_elsewhere(const JobView& job, const RankRow& behind) {
  for (const RankRow& row : job.rows) {
    const bool is_other = row.progress.communicator != behind.progress.communicator;
    if (row.pid == behind.pid && row.progress.job_rank == behind.progress.job_rank && is_other && waits(row)) {
      return &row;
    }
  }
  return nullptr;
}

/// Judges the ranks of one communicator.
class CommunicatorCheck {
 public:
  CommunicatorCheck(const JobView& job, Rows rows, std::int64_t now_ns, std::vector<Finding>& findings)
      : job_(job), rows_(std::move(rows)), now_ns_(now_ns), findings_(findings) {
    std::ranges::copy_if(rows_, std::back_inserter(waiting_), [](const RankRow* row) { return waits(*row); });
    for (const RankRow* row : rows_) ahead_ = std::max(ahead_, row->progress.sequence);
  }

  void run() {
    find_failed();
    if (rows_.front()->progress.stage == CommunicatorStage::creating) return find_absent();
    find_gone();
    find_mismatch();
    find_behind();
    find_late_messages();
    find_stalled();
  }

 private:
  void add(FindingKind kind, const RankRow& row, std::string text, std::uint64_t behind = 0) {
    findings_.push_back({.kind = kind,
                         .communicator = row.progress.name,
                         .rank = row.progress.job_rank,
                         .pid = row.pid,
                         .operations_behind = behind,
                         .text = std::move(text)});
  }

  [[nodiscard]] std::string of_communicator() const {
    return concat(" of communicator ", rows_.front()->progress.name);
  }

  void find_failed() {
    for (const RankRow* row : rows_) {
      if (row->progress.stage != CommunicatorStage::failed) continue;
      add(FindingKind::failed, *row,
          concat(rank_text(*row), " has failed in communicator ", row->progress.name, ": ", row->progress.failure));
    }
  }

  void find_absent() {
    const RankRow& first = *rows_.front();
    if (static_cast<int>(rows_.size()) >= first.progress.size || first.has_moved) return;
    std::vector<int> here;
    for (const RankRow* row : rows_) here.push_back(row->progress.rank);
    std::ranges::sort(here);
    const std::string age = age_text(first.progress, now_ns_);
    findings_.push_back(
        {.kind = FindingKind::absent,
         .communicator = first.progress.name,
         .pid = first.pid,
         .text = concat("communicator ", first.progress.name, " of ", first.progress.size, " ranks is being created",
                        age.empty() ? "" : " for ", age, ", but only ", rank_list(here), " of this host came")});
  }

  /// Ranks of this host that no process shows any more, or that have destroyed the communicator.
  void find_gone() {
    for (const RankRow* row : rows_) {
      if (row->progress.stage != CommunicatorStage::destroyed || row->progress.sequence >= ahead_) continue;
      if (waiting_.empty()) continue;
      add(FindingKind::gone, *row,
          concat(rank_text(*row), " has destroyed communicator ", row->progress.name, "; ",
                 waiting_text(waiting_, now_ns_)),
          ahead_ - row->progress.sequence);
    }
    const CommunicatorProgress& any = rows_.front()->progress;
    if (waiting_.empty() || static_cast<int>(rows_.size()) >= any.ranks_here) return;
    std::vector<int> missing;
    if (any.ranks_here == any.size) {
      for (int rank = 0; rank < any.size; ++rank) {
        const auto is_it = [&](const RankRow* row) { return row->progress.rank == rank; };
        if (std::ranges::none_of(rows_, is_it)) missing.push_back(rank);
      }
    }
    std::string who =
        missing.empty() ? concat(any.ranks_here - static_cast<int>(rows_.size()), " of the ranks") : rank_list(missing);
    std::string text = concat(who, of_communicator(), missing.size() == 1 ? " has" : " have", " no process any more");
    for (const std::int64_t zombie : job_.zombies) text += concat(" (pid ", zombie, " has ended and is a zombie)");
    findings_.push_back({.kind = FindingKind::gone,
                         .communicator = any.name,
                         .rank = missing.size() == 1 ? missing.front() : -1,
                         .text = concat(text, "; ", waiting_text(waiting_, now_ns_))});
  }

  /// Ranks in different operations with the same number. Counts may differ where each rank has its own.
  void find_mismatch() {
    const auto in_collective = [](const RankRow* row) {
      return waits(*row) && row->progress.sequence > row->progress.left && !row->progress.grouped;
    };
    const auto first = std::ranges::find_if(rows_, in_collective);
    if (first == rows_.end()) return;
    const CommunicatorProgress& a = (*first)->progress;
    for (const RankRow* row : rows_) {
      const CommunicatorProgress& b = row->progress;
      if (!in_collective(row) || b.sequence != a.sequence) continue;
      const bool is_same = a.kind == b.kind && a.type == b.type && a.root == b.root &&
                           (a.reduction == b.reduction || !traits(a.kind).reduces) &&
                           (a.count == b.count || is_vector(a.kind));
      if (is_same) continue;
      add(FindingKind::mismatch, *row,
          concat("the ranks of communicator ", a.name, " are in different operations: ", rank_text(**first), " in ",
                 describe_call(a), ", ", rank_text(*row), " in ", describe_call(b)));
      return;
    }
  }

  void find_behind() {
    Rows ahead;
    std::ranges::copy_if(waiting_, std::back_inserter(ahead),
                         [&](const RankRow* row) { return row->progress.sequence == ahead_; });
    for (const RankRow* row : rows_) {
      const CommunicatorProgress& its = row->progress;
      if (its.stage != CommunicatorStage::active || its.sequence >= ahead_ || row->has_moved || ahead.empty()) continue;
      const std::uint64_t behind = ahead_ - its.sequence;
      const std::string state = state_text(*row);
      const std::string age = age_text(its, now_ns_);
      const RankRow* elsewhere = waits_elsewhere(job_, *row);
      std::string does;
      if (elsewhere != nullptr) {
        does = concat("it waits itself in ", describe_call(elsewhere->progress), " of communicator ",
                      elsewhere->progress.name);
      } else if (its.is_inside()) {
        does = concat("it is in ", describe_call(its), age.empty() ? "" : " for ", age);
      } else if (its.has_called()) {
        does = concat("it left ", describe_call(its), age.empty() ? "" : " ", age, age.empty() ? "" : " ago",
                      " and is not in a call");
      } else {
        does = "it has made no call yet";
      }
      std::string text = concat(rank_text(*row), state.empty() ? "" : " ", state, state.empty() ? " is " : ". It is ",
                                behind, behind == 1 ? " operation" : " operations", " behind",
                                of_communicator_if_split(*row), ": ", does, "; ", waiting_text(ahead, now_ns_));
      add(state.empty() ? FindingKind::behind : kind_of_state(*row), *row, std::move(text), behind);
    }
  }

  [[nodiscard]] std::string of_communicator_if_split(const RankRow& row) const {
    return job_.rows.front().progress.communicator == row.progress.communicator
               ? ""
               : " in communicator " + row.progress.name;
  }

  /// Ranks that wait in a message for a rank that is not in a call.
  void find_late_messages() {
    for (const RankRow* row : waiting_) {
      const CommunicatorProgress& its = row->progress;
      if ((its.ticks & 1) == 0 || !is_message(its.kind) || its.grouped) continue;
      const auto peer =
          std::ranges::find_if(rows_, [&](const RankRow* other) { return other->progress.rank == its.root; });
      if (peer == rows_.end() || *peer == row || (*peer)->has_moved || waits(**peer)) continue;
      if ((*peer)->progress.stage != CommunicatorStage::active || waits_elsewhere(job_, **peer) != nullptr) continue;
      const std::string state = state_text(**peer);
      const std::string age = age_text(its, now_ns_);
      add(state.empty() ? FindingKind::behind : kind_of_state(**peer), **peer,
          concat(rank_text(**peer), " ", state.empty() ? "is not in a call" : state, "; ", rank_text(*row),
                 " waits for it in ", describe_call(its), age.empty() ? "" : " for ", age));
    }
  }

  /// Named tensors that ranks have not submitted, as the engine of a rank that waits for them has found.
  void find_stalled() {
    Rows waiting;
    std::ranges::copy_if(rows_, std::back_inserter(waiting), [](const RankRow* row) {
      return row->progress.stage == CommunicatorStage::active && !row->progress.stall.empty();
    });
    if (waiting.empty()) return;
    const CommunicatorProgress& its = waiting.front()->progress;
    const auto missing =
        std::ranges::find_if(rows_, [&](const RankRow* row) { return row->progress.rank == its.stalled_by; });
    std::string text =
        concat("tensors", of_communicator(), " wait on ", rank_list(job_ranks(waiting)), ": ", its.stall);
    if (missing == rows_.end()) {
      findings_.push_back({.kind = FindingKind::stalled, .communicator = its.name, .text = std::move(text)});
      return;
    }
    const std::string state = state_text(**missing);
    if (!state.empty()) text = concat(rank_text(**missing), " ", state, "; ", text);
    add(state.empty() ? FindingKind::stalled : kind_of_state(**missing), **missing, std::move(text));
  }

  const JobView& job_;
  Rows rows_;
  std::int64_t now_ns_;
  std::vector<Finding>& findings_;
  Rows waiting_;
  std::uint64_t ahead_ = 0;  ///< the highest number that a rank has entered
};

/// Processes that are stopped, though nobody waits for them yet.
void find_states(const JobView& job, std::vector<Finding>& findings) {
  std::set<std::int64_t> seen;
  for (const Finding& finding : findings) seen.insert(finding.pid);
  for (const RankRow& row : job.rows) {
    const std::string state = state_text(row);
    // A short sleep in the kernel is common: it counts only for a process that others wait for.
    if (state.empty() || row.process.state == 'D' || !seen.insert(row.pid).second) continue;
    findings.push_back({.kind = kind_of_state(row),
                        .communicator = row.progress.name,
                        .rank = row.progress.job_rank,
                        .pid = row.pid,
                        .text = concat(rank_text(row), " ", state, "; no other rank waits for it yet")});
  }
}

/// Whether the rank is behind because it waits for others itself.
bool is_consequence(const JobView& job, const Finding& finding) {
  if (finding.kind != FindingKind::behind) return false;
  return std::ranges::any_of(job.rows, [&](const RankRow& row) { return row.pid == finding.pid && waits(row); });
}

}  // namespace

std::string_view name(FindingKind kind) noexcept { return kNames[static_cast<std::size_t>(kind)]; }

std::string rank_list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  const std::size_t listed = std::min(ranks.size(), kMostListed);
  for (std::size_t i = 0; i < listed; ++i) {
    text += i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return listed < ranks.size() ? concat(text, " and ", ranks.size() - listed, " more") : text;
}

std::vector<Finding> diagnose(const JobView& job, std::int64_t now_ns) {
  std::map<std::uint64_t, Rows> communicators;
  std::vector<std::uint64_t> order;
  for (const RankRow& row : job.rows) {
    Rows& rows = communicators[row.progress.communicator];
    if (rows.empty()) order.push_back(row.progress.communicator);
    rows.push_back(&row);
  }
  std::vector<Finding> findings;
  for (const std::uint64_t communicator : order) {
    CommunicatorCheck(job, communicators[communicator], now_ns, findings).run();
  }
  find_states(job, findings);
  const auto causes =
      std::ranges::stable_partition(findings, [&](const Finding& finding) { return !is_consequence(job, finding); });
  std::set<int> ranks;
  for (const Finding& finding : findings) ranks.insert(finding.rank);
  if (causes.begin() == findings.begin() && ranks.size() > 1) {
    const std::string who = rank_list({ranks.begin(), ranks.end()});
    findings.insert(findings.begin(), {.kind = FindingKind::cycle,
                                       .communicator = {},
                                       .text = who + " wait for each other, so that none of them can go on"});
  }
  return findings;
}

}  // namespace tutti::tools
