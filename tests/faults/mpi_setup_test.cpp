// A rank that dies while MPI is started or a communicator is made, or that never comes: the others learn it, although
// their launcher leaves them alone and MPI would wait for ever.
#include <gtest/gtest.h>

#include <algorithm>
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
  const char* way;
};

void PrintTo(const Job& job, std::ostream* out) { *out << job.backend << ' ' << job.way; }

std::string name_of(const testing::TestParamInfo<Job>& info) {
  std::string name = std::string(info.param.backend).substr(4) + "_" + info.param.way;
  std::ranges::replace(name, ':', '_');
  return name;
}

/// Shell of a rank. Launchers end the other ranks when one ends: it stays until all ranks have ended.
constexpr const char* kShell =
    "\"$@\"; echo exit code $?; : >\"$ENDED/$$\"; i=0; "
    "while [ $i -lt 900 ] && [ \"$(ls \"$ENDED\" | wc -l)\" -lt 3 ]; do sleep 0.1; i=$((i + 1)); done";

CommandResult run(const Job& job) {
  const TemporaryFolder begun;
  const TemporaryFolder ended;
  // An absent rank can be told from a slow one by the timeout only; a dead one is seen.
  const char* const patience = std::string_view(job.way) == "absent" ? "5s" : "60s";
  return run_command({TUTTI_TEST_COMMAND, "run", "-n", "3", "--backend", job.backend, "--", "sh", "-c", kShell, "sh",
                      TUTTI_TEST_RANKS_PROGRAM, job.way},
                     {{"BEGUN", begun.path()},
                      {"ENDED", ended.path()},
                      {"TUTTI_RENDEZVOUS_TIMEOUT", patience},
                      {"OMPI_MCA_orte_enable_recovery", "1"},
                      {"OMPI_MCA_orte_abort_on_non_zero_status", "0"},
                      {"HYDRA_AUTO_CLEANUP", "0"}},
                     120s);
}

class MpiSetup : public testing::TestWithParam<Job> {};

TEST_P(MpiSetup, NamesTheRankThatIsMissing) {
  const Job& job = GetParam();
  static std::map<std::string, std::string> absent;
  if (const auto [row, is_new] = absent.try_emplace(job.backend); is_new) {
    const CommandResult all = run({job.backend, "none"});
    if (all.output.find("rank 2 of 3") == std::string::npos) row->second = all.output;
  }
  if (!absent[job.backend].empty()) TUTTI_SKIP_OR_FAIL(job.backend, absent[job.backend]);
  const CommandResult result = run(job);
  EXPECT_FALSE(result.timed_out) << result.output;
  const bool is_absent = std::string_view(job.way) == "absent";
  for (const int rank : {0, 2}) {
    const std::string survivor = "rank " + std::to_string(rank) + ": ";
    EXPECT_NE(result.output.find(survivor + (is_absent ? "timeout: " : "peer_failure: ")), std::string::npos)
        << result.output;
    EXPECT_EQ(result.output.find(survivor + "the library still works"), std::string::npos) << result.output;
    EXPECT_NE(result.output.find(survivor + "again "), std::string::npos) << result.output;
  }
  EXPECT_NE(result.output.find(is_absent ? "; rank 1 has not called world()" : "rank 1 "), std::string::npos)
      << result.output;
}

std::vector<Job> jobs() {
  std::vector<Job> all;
  for (const char* backend : {"mpi:openmpi", "mpi:mpich", "mpi:intel"}) {
    for (const char* way : {"init", "inside", "dup", "split", "absent"}) all.push_back({backend, way});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, MpiSetup, testing::ValuesIn(jobs()), name_of);

}  // namespace
}  // namespace tutti::test
