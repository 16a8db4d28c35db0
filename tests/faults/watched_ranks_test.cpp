// Backends whose library waits for ever for a rank that is missing: tutti notices it, ends the call and names the rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/required_backends.hpp"
#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

struct Job {
  const char* backend;
  const char* how;
  const char* way;
};

std::string name_of(const testing::TestParamInfo<Job>& info) {
  std::string name = std::string(info.param.backend) + "_" + info.param.how + "_" + info.param.way;
  std::ranges::replace(name, ':', '_');
  return name;
}

void PrintTo(const Job& job, std::ostream* out) { *out << job.backend << ' ' << job.how << ' ' << job.way; }

class WatchedRanks : public testing::TestWithParam<Job> {};

/// Shell of a rank. Launchers end the other ranks when one ends: it stays until all ranks have ended.
constexpr const char* kShell =
    "\"$@\"; echo exit code $?; : >\"$ENDED/$$\"; i=0; "
    "while [ $i -lt 600 ] && [ \"$(ls \"$ENDED\" | wc -l)\" -lt 3 ]; do sleep 0.1; i=$((i + 1)); done";

/// Runs a program with three ranks through the launcher of the backend.
CommandResult run(const Job& job, const std::vector<std::string>& program, const char* timeout = "0") {
  const TemporaryFolder ended;
  std::vector<std::string> command = {
      TUTTI_TEST_COMMAND, "run", "-n", "3", "--backend", job.backend, "--", "sh", "-c", kShell, "sh"};
  command.insert(command.end(), program.begin(), program.end());
  return run_command(command,
                     {{"ENDED", ended.path()},
                      {"TUTTI_TIMEOUT", timeout},
                      {"OMPI_MCA_orte_enable_recovery", "1"},
                      {"OMPI_MCA_orte_abort_on_non_zero_status", "0"},
                      {"HYDRA_AUTO_CLEANUP", "0"}},
                     120s);
}

TEST_P(WatchedRanks, NoticeTheMissingOne) {
  const Job& job = GetParam();
  const std::string_view how = job.how;
  static std::map<std::string, std::string> absent;
  if (const auto [row, is_new] = absent.try_emplace(job.backend); is_new) {
    const CommandResult there = run(job, {TUTTI_TEST_FAULT_PROGRAM, "leave"});
    if (there.output.find("exit code 0") == std::string::npos) row->second = there.output;
  }
  if (!absent[job.backend].empty()) TUTTI_SKIP_OR_FAIL(job.backend, absent[job.backend]);
  const CommandResult result = run(job, {TUTTI_TEST_WATCHED_RANKS, job.how, job.way}, how == "late" ? "2s" : "0");
  EXPECT_FALSE(result.timed_out) << result.output;
  const std::string code = how == "abort" ? "aborted" : how == "late" ? "timeout" : "peer_failure";
  for (const int rank : {0, 2}) {
    const std::string survivor = "survivor " + std::to_string(rank);
    EXPECT_NE(result.output.find(survivor + ": " + code + ": "), std::string::npos) << result.output;
    EXPECT_NE(result.output.find(survivor + " has left"), std::string::npos) << result.output;
  }
  const char* const name = job.backend == std::string_view("native") ? "rank 1" : "rank 1 (pid ";
  EXPECT_NE(result.output.find(name), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("still works"), std::string::npos) << result.output;
}

std::vector<Job> jobs() {
  std::vector<Job> all;
  for (const char* backend : {"mpi:openmpi", "mpi:mpich", "mpi:intel", "ccl"}) {
    for (const char* how : {"kill", "throw", "abort", "late"}) all.push_back({backend, how, "allreduce"});
    for (const char* way : {"work", "ring", "average"}) all.push_back({backend, "exit", way});
  }
  // Nobody writes to the memory of a call that has given up.
  for (const char* way : {"allreduce", "work", "ring"}) all.push_back({"native", "late", way});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, WatchedRanks, testing::ValuesIn(jobs()), name_of);

}  // namespace
}  // namespace tutti::test
