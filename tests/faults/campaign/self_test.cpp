#include "faults/campaign/self_test.hpp"

#include <unistd.h>

#include <array>
#include <iostream>
#include <map>

#include "faults/campaign/job/workers.hpp"
#include "faults/campaign/verdict/journal.hpp"
#include "faults/campaign/verdict/named_ranks.hpp"
#include "faults/campaign/verdict/summary.hpp"

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
  int failures = test_messages() + (all_well ? 0 : 1);
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
