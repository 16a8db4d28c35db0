#include "faults/campaign/self_test.hpp"

#include <unistd.h>

#include <array>
#include <iostream>
#include <map>

#include "faults/campaign/job/workers.hpp"
#include "faults/campaign/verdict/journal.hpp"
#include "faults/campaign/verdict/named_ranks.hpp"
#include "faults/campaign/verdict/summary.hpp"
#include "faults/campaign/verdict/verdict.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test::campaign {
namespace {

/// A way in which the fake backend fails, the fault that brings it out, and the verdict that it must get.
struct Trial {
  const char* how;
  Fault fault;
  Verdict verdict;
};

constexpr std::array kTrials = {
    Trial{"nothing", Fault::none, Verdict::ok},
    Trial{"nothing", Fault::kill, Verdict::ok},
    Trial{"nothing", Fault::mismatch, Verdict::ok},
    Trial{"hang", Fault::none, Verdict::hang},
    Trial{"hang_at_failure", Fault::kill, Verdict::hang},
    Trial{"crash", Fault::none, Verdict::crash},
    Trial{"terminate", Fault::kill, Verdict::crash},
    Trial{"wrong_sum", Fault::none, Verdict::wrong_result},
    Trial{"leak_file", Fault::none, Verdict::leak},
    Trial{"leak_process", Fault::none, Verdict::leak},
    Trial{"leak_thread", Fault::none, Verdict::leak},
    Trial{"wrong_rank", Fault::kill, Verdict::wrong_rank},
    Trial{"wrong_code", Fault::kill, Verdict::wrong_code},
    Trial{"foreign", Fault::kill, Verdict::wrong_code},
    Trial{"late", Fault::kill, Verdict::late},
};

/// A message and the ranks that it holds responsible.
struct Message {
  const char* text;
  std::vector<int> ranks;
};

/// Messages that name no rank right must not pass for messages that do.
int test_messages() {
  const std::vector<Message> messages = {
      {"allreduce of 4 int8 (4 B) on rank 1 of 4 (native): rank 3 died", {3}},
      {"barrier on rank 1 of 4 (native): not complete after 1 s", {}},
      {"rank 1 waited 1 s; rank 0 is in it; ranks 2 and 3 have not entered", {2, 3}},
      {"rank 0 calls barrier, rank 2 calls allreduce", {0, 2}},
      {"rank 0 died; ranks 0 and 1 of communicator second are ranks 1 and 3 of the job", {0}},
      {"ranks 0 to 2 of 4 did not reach 'offers' within 8 s", {0, 1, 2}},
      {"rank 12 died", {12}},
  };
  int failures = 0;
  for (const Message& message : messages) {
    if (named_ranks(message.text) == message.ranks) continue;
    std::cout << "FAILED  ranks named in: " << message.text << std::endl;
    ++failures;
  }
  return failures;
}

/// A reason in the words of another communicator blames its ranks, not those of the same numbers.
int test_reasons() {
  const std::vector<Message> reasons = {
      {"barrier on rank 0 of 3 (mpi): rank 1 (pid 7) died", {1}},
      {"rank 0 died; ranks 0 and 1 of communicator second are ranks 1 and 3 of the job", {1}},
      {"rank 1 died; ranks 0 and 1 of communicator second are ranks 0 and 2 of the job", {2}},
      {"rank 0 died; rank 0 of communicator second is rank 3 of the job", {3}},
      {"rank 2 died; ranks 0 and 1 of communicator second are ranks 1 and 3 of the job", {-1}},
  };
  int failures = 0;
  for (const Message& reason : reasons) {
    if (named_in_job(reason.text) == reason.ranks) continue;
    std::cout << "FAILED  ranks of the job named in: " << reason.text << std::endl;
    ++failures;
  }
  return failures;
}

/// A run of four ranks with a mismatch of rank 1, in which rank 0 ends with an error of the communicator second.
struct Elsewhere {
  const char* error;
  Verdict verdict;
};

/// Communicators that the fault does not concern: nobody may be accused there of a call of another communicator, and
/// the reason for which a rank has left counts only if it names the culprit.
int test_elsewhere() {
  RunId id;
  id.fault = Fault::mismatch;
  id.fewest_ranks = 4;
  RunPlan plan = make_run_plan(id);
  plan.second = Second::parity;
  plan.culprit = 1;
  const std::vector<Elsewhere> all = {
      {"peer_failure operation 0,2, barrier on rank 0 of 2 (native): rank 1 left (rank 1 had failed before: rank 0 "
       "calls "
       "barrier, rank 1 calls allreduce)",
       Verdict::ok},
      {"peer_failure operation 0,2, barrier on rank 0 of 2 (native): rank 1 left (rank 1 had failed before: rank 0 "
       "died; "
       "ranks 0 and 1 of communicator second are ranks 1 and 3 of the job)",
       Verdict::ok},
      {"peer_failure operation 0,2, barrier on rank 0 of 2 (native): rank 0 left (rank 1 had failed before: rank 1 "
       "died; "
       "ranks 0 and 1 of communicator second are ranks 0 and 2 of the job)",
       Verdict::wrong_rank},
      {"invalid_usage operation 0,2, rank 1 calls barrier (rank 1 had failed before: rank 1 died)",
       Verdict::wrong_code},
  };
  const StallClock stalls;
  int failures = 0;
  for (const Elsewhere& one : all) {
    const TemporaryFolder folder;
    JobResult result;
    for (int rank = 0; rank < plan.ranks; ++rank) {
      const std::string path = folder.path() / std::to_string(rank);
      {
        const RankReport report(path.c_str());
        report.line("start", rank + 1);
        if (rank == plan.culprit) report.line("fault", "count");
        report.line("op", rank == 0 ? "3 second barrier" : "3 world allreduce");
        report.line("error", rank == 0 ? one.error : "invalid_usage operation 0,1,2,3, rank 0 differs from rank 1");
        report.line("end", "failed");
      }
      result.traces.emplace_back(path);
      result.wait_status.push_back(1 << 8);
    }
    const Judgement judgement = judge(plan, result, stalls);
    if (judgement.verdict == one.verdict) continue;
    std::cout << "FAILED  verdict " << name(judgement.verdict) << " instead of " << name(one.verdict)
              << " on: " << one.error << ": " << judgement.reason << std::endl;
    ++failures;
  }
  return failures;
}

}  // namespace

int self_test(bool is_verbose) {
  std::vector<RunId> runs;
  std::vector<RunId> last;  // without a private /dev/shm, other jobs would see the file that this one leaves
  for (std::size_t i = 0; i < kTrials.size(); ++i) {
    RunId id;
    id.run = i;
    id.backend = std::string("fake_faulty:native@") + kTrials[i].how;
    id.fault = kTrials[i].fault;
    // A fault that a timer fires may come after the last operation.
    while (make_run_plan(id).during) id.run += kTrials.size();
    (std::string_view(kTrials[i].how) == "leak_file" ? last : runs).push_back(id);
  }
  std::map<std::uint64_t, Entry> entries;
  const auto on_line = [&](const std::string& line) {
    const auto entry = parse_journal_line(line);
    if (!entry) return false;
    if (is_verbose) std::cout << describe(*entry) << std::endl;
    entries[entry->run % kTrials.size()] = *entry;
    return true;
  };
  const bool all_well = carry_out(runs, 4, on_line) && carry_out(last, 1, on_line);
  unlink("/dev/shm/tutti-fake-leak");  // there only if the jobs had no private /dev/shm
  int failures = test_messages() + test_reasons() + test_elsewhere() + (all_well ? 0 : 1);
  for (std::size_t i = 0; i < kTrials.size(); ++i) {
    const Trial& trial = kTrials[i];
    const auto entry = entries.find(i);
    const std::string got = entry == entries.end() ? "none" : std::string(name(entry->second.verdict));
    const bool right = got == name(trial.verdict);
    std::cout << (right ? "ok      " : "FAILED  ") << trial.how << " with fault " << row_of(trial.fault).name
              << ": verdict " << got;
    if (!right) std::cout << ", expected " << name(trial.verdict) << ": " << entries[i].reason;
    std::cout << std::endl;
    if (!right) ++failures;
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace tutti::test::campaign
