#include "faults/campaign/verdict/verdict.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "faults/campaign/verdict/named_ranks.hpp"

namespace tutti::test::campaign {
namespace {

constexpr std::array<std::string_view, kVerdictCount> kNames = {
    "wrong_result", "crash", "hang", "leak", "wrong_code", "wrong_rank", "late", "skipped", "launcher", "ok"};

/// Of a communicator that the fault does not concern. Its own calls agree, so invalid_usage would be a false
/// accusation.
constexpr Codes kGone = {ErrorCode::peer_failure, ErrorCode::aborted};

ErrorCode code_named(const std::string& text) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::config); ++code) {
    if (tutti::name(static_cast<ErrorCode>(code)) == text) return static_cast<ErrorCode>(code);
  }
  return ErrorCode::ok;
}

class Judge {
 public:
  Judge(const RunPlan& plan, const JobResult& result, const StallClock& stalls)
      : plan_(plan), result_(result), stalls_(stalls), row_(row_of(plan.id.fault)) {}

  Judgement run() {
    if (!result_.skipped.empty()) return {Verdict::skipped, result_.skipped};
    find_fault();
    for (int rank = 0; rank < plan_.ranks; ++rank) judge_rank(rank);
    if (result_.timed_out && judgement_.verdict > Verdict::hang) say(Verdict::hang, "the launcher hangs");
    for (const std::string& process : result_.left_processes) say(Verdict::leak, "process left: " + process);
    for (const std::string& file : result_.left_files) say(Verdict::leak, "file left: " + file);
    return std::move(judgement_);
  }

 private:
  [[nodiscard]] const RankTrace& trace(int rank) const { return result_.traces[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool is_culprit(int rank) const { return rank == plan_.culprit; }

  void say(Verdict verdict, std::string reason) {
    if (verdict < judgement_.verdict) {
      judgement_.verdict = verdict;
      judgement_.reason = std::move(reason);
    }
  }
  void say(Verdict verdict, int rank, const std::string& reason) {
    say(verdict, "rank " + std::to_string(rank) + (is_culprit(rank) ? " (the culprit): " : ": ") + reason);
  }

  /// A fault that came after the culprit had entered the last operation, or not at all, need not be noticed: the others
  /// may have completed theirs.
  void find_fault() {
    const ReportLine* fault = trace(plan_.culprit).find("fault");
    const ReportLine* step = trace(plan_.culprit).find_last("op");
    if (fault != nullptr) fault_ns_ = fault->time_ns;
    const bool in_last = step != nullptr && step->text.starts_with("last") && step->time_ns < fault_ns_;
    must_show_ = fault != nullptr && !in_last;
  }

  void judge_rank(int rank) {
    const RankTrace& mine = trace(rank);
    if (const ReportLine* wrong = mine.find("wrong")) say(Verdict::wrong_result, rank, wrong->text);
    if (const ReportLine* child = mine.find("child")) judge_child(rank, child->text);
    if (const ReportLine* threads = mine.find("threads"); threads != nullptr && keeps_no_threads()) {
      say(Verdict::leak, rank, "threads left: " + threads->text);
    }
    judge_end(rank);
    if (const ReportLine* foreign = mine.find("foreign")) {
      say(Verdict::wrong_code, rank, "an exception that is no tutti::Error: " + foreign->text);
    }
    if (const auto error = mine.error()) {
      judge_error(rank, *error);
    } else if (mine.find("complete") != nullptr && must_show_ && !outcome(rank).may_complete) {
      say(Verdict::wrong_code, rank, "completed all operations; an error was expected");
    }
    judge_destruction(rank);
  }

  void judge_child(int rank, const std::string& text) {
    if (text == "refused") return;
    say(text == "hangs" ? Verdict::hang : Verdict::wrong_code, rank, "the forked child: " + text);
  }

  /// Other libraries keep threads until the process ends.
  [[nodiscard]] bool keeps_no_threads() const {
    return !plan_.id.backend.starts_with("mpi") && !plan_.id.backend.starts_with("ccl");
  }

  void judge_end(int rank) {
    const RankTrace& mine = trace(rank);
    const bool may_die = is_culprit(rank) && row_.culprit_ends && mine.find("fault") != nullptr;
    if (const ReportLine* terminate = mine.find("terminate")) {
      return say(Verdict::crash, rank, "std::terminate: " + terminate->text);
    }
    if (const ReportLine* signal = mine.find("signal")) {
      if (std::atoi(signal->text.c_str()) == SIGTERM && result_.has_launcher) {
        return say(Verdict::launcher, rank, "ended by the launcher");
      }
      return say(Verdict::crash, rank, "signal " + signal->text + " after " + last_step(mine));
    }
    const int status = result_.wait_status[static_cast<std::size_t>(rank)];
    const bool has_status = !result_.has_launcher && status != -1;
    if (mine.find("end") == nullptr && !may_die) {
      if (result_.timed_out) return say(Verdict::hang, rank, "hangs in " + last_step(mine));
      if (result_.has_launcher) return say(Verdict::launcher, rank, "ended by the launcher in " + last_step(mine));
      return say(Verdict::crash, rank, "ended in " + last_step(mine) + " with wait status " + std::to_string(status));
    }
    if (result_.timed_out && !has_status && !result_.has_launcher) return say(Verdict::hang, rank, "hangs at its end");
    if (has_status && !may_die && (!WIFEXITED(status) || WEXITSTATUS(status) > 1)) {
      say(Verdict::crash, rank, "wait status " + std::to_string(status) + " after its end");
    }
  }

  [[nodiscard]] static std::string last_step(const RankTrace& trace) {
    if (trace.find("destroyed") != nullptr) return "its exit";
    if (trace.find("leaving") != nullptr || trace.find("complete") != nullptr) return "destruction";
    const ReportLine* step = trace.find_last("op");
    return step == nullptr ? "set-up" : "operation " + step->text;
  }

  [[nodiscard]] const Outcome& outcome(int rank) const { return is_culprit(rank) ? row_.culprit : row_.others; }

  void judge_error(int rank, const ReportedError& error) {
    const Outcome& expected = outcome(rank);
    const ErrorCode code = code_named(error.code);
    const Codes& codes = error.in_setup ? expected.setup_codes : is_elsewhere(rank) ? kGone : expected.codes;
    const std::string text = error.code + ": " + error.message;
    if (!codes.contains(code)) say(Verdict::wrong_code, rank, text);
    if (expected.names_culprit && !names_right(rank, error)) say(Verdict::wrong_rank, rank, text);
    if (!expected.says.empty() && error.message.find(expected.says) == std::string::npos) {
      say(Verdict::wrong_code, rank, "the message lacks \"" + std::string(expected.says) + "\": " + text);
    }
    if (!is_culprit(rank)) judge_time(rank, error);
  }

  /// Whether the error is of a communicator that the fault does not concern. Its ranks see that others leave because of
  /// the fault.
  [[nodiscard]] bool is_elsewhere(int rank) const {
    if (!is_mismatch(plan_.id.fault)) return false;
    const ReportLine* step = trace(rank).find_last("op");
    return step != nullptr && step->text.find(" second ") != std::string::npos;
  }

  /// Whether the message names the culprit. On a communicator without it, whether it names a rank that failed before.
  [[nodiscard]] bool names_right(int rank, const ReportedError& error) const {
    // A rank that left because of a failure in another communicator says which; its ranks are counted there.
    constexpr std::string_view kReason = " had failed before: ";
    const std::size_t at = error.message.find(kReason);
    if (at != std::string::npos) {
      // In parentheses, with the ranks of its own communicator.
      const std::size_t begin = at + kReason.size();
      const std::size_t end = error.message.rfind(')');
      if (end == std::string::npos || end < begin) return false;
      const std::string_view reason = std::string_view(error.message).substr(begin, end - begin);
      if (std::ranges::count(named_in_job(reason), plan_.culprit) != 0) return true;
    }
    return names_right_in(rank, error, std::string_view(error.message).substr(0, at));
  }

  [[nodiscard]] bool names_right_in(int rank, const ReportedError& error, std::string_view message) const {
    const std::vector<int>& members = error.members;
    const bool has_culprit = std::ranges::find(members, plan_.culprit) != members.end();
    return std::ranges::any_of(named_ranks(message), [&](int local) {
      if (local >= static_cast<int>(members.size())) return false;
      const int named = members[static_cast<std::size_t>(local)];
      if (has_culprit || named == rank) return named == plan_.culprit;
      const auto before = trace(named).error();
      return before.has_value() && before->time_ns < error.time_ns;
    });
  }

  void judge_time(int rank, const ReportedError& error) {
    if (fault_ns_ == 0) return;
    const ReportLine* step = trace(rank).find_last("op");
    const std::int64_t begin = step == nullptr ? fault_ns_ : std::max(fault_ns_, step->time_ns);
    const std::int64_t taken = error.time_ns - begin - stalls_.stalled_ns(begin, error.time_ns);
    judgement_.noticed_s = std::max(judgement_.noticed_s, static_cast<double>(taken) * 1e-9);
    auto allowed = plan_.limit + plan_.timeout;
    if (error.in_setup) allowed += plan_.rendezvous;
    check_time(rank, taken, allowed, "its error came");
  }

  void judge_destruction(int rank) {
    const ReportLine* leaving = trace(rank).find("leaving");
    const ReportLine* destroyed = trace(rank).find("destroyed");
    if (leaving == nullptr || destroyed == nullptr) return;
    const std::int64_t taken =
        destroyed->time_ns - leaving->time_ns - stalls_.stalled_ns(leaving->time_ns, destroyed->time_ns);
    check_time(rank, taken, plan_.limit, "its communicators were destroyed");
  }

  void check_time(int rank, std::int64_t taken_ns, std::chrono::milliseconds allowed, const std::string& event) {
    const double seconds = static_cast<double>(taken_ns) * 1e-9;
    const double limit = static_cast<double>(allowed.count()) * 1e-3;
    if (seconds <= limit) return;
    say(Verdict::late, rank, event + " after " + std::to_string(seconds) + " s; the limit is " + std::to_string(limit));
  }

  const RunPlan& plan_;
  const JobResult& result_;
  const StallClock& stalls_;
  const FaultRow& row_;
  std::int64_t fault_ns_ = 0;
  bool must_show_ = false;
  Judgement judgement_;
};

}  // namespace

std::string_view name(Verdict verdict) noexcept { return kNames[static_cast<std::size_t>(verdict)]; }

std::optional<Verdict> parse_verdict(std::string_view name) noexcept {
  const auto found = std::ranges::find(kNames, name);
  return found == kNames.end() ? std::nullopt : std::optional(static_cast<Verdict>(found - kNames.begin()));
}

Judgement judge(const RunPlan& plan, const JobResult& result, const StallClock& stalls) {
  return Judge(plan, result, stalls).run();
}

}  // namespace tutti::test::campaign
