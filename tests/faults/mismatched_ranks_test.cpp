// Ranks that call different things on backends whose library does not compare the calls: the ranks of a host notice it
// by each other's progress boards, without TUTTI_CHECK.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
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

/// Shell of a rank. Launchers end the other ranks when one ends: it stays until all ranks have ended.
constexpr const char* kShell =
    "\"$@\"; echo exit code $?; : >\"$ENDED/$$\"; i=0; "
    "while [ $i -lt 600 ] && [ \"$(ls \"$ENDED\" | wc -l)\" -lt 3 ]; do sleep 0.1; i=$((i + 1)); done";

CommandResult run(const std::string& backend, const std::vector<std::string>& program, const char* check = "auto") {
  const TemporaryFolder ended;
  std::vector<std::string> command = {
      TUTTI_TEST_COMMAND, "run", "-n", "3", "--backend", backend, "--", "sh", "-c", kShell, "sh"};
  command.insert(command.end(), program.begin(), program.end());
  return run_command(command,
                     {{"ENDED", ended.path()},
                      {"TUTTI_CHECK", check},
                      {"OMPI_MCA_orte_enable_recovery", "1"},
                      {"OMPI_MCA_orte_abort_on_non_zero_status", "0"},
                      {"HYDRA_AUTO_CLEANUP", "0"}},
                     120s);
}

/// The line of a rank.
std::string line_of(const std::string& output, int rank) {
  const std::string begin = "rank " + std::to_string(rank) + ": ";
  for (std::size_t at = output.find(begin); at != std::string::npos; at = output.find(begin, at + 1)) {
    // Lines may have the prefix of the launcher.
    const std::string line = output.substr(at, output.find('\n', at) - at);
    if (line.find(": invalid_usage: ") != std::string::npos || line.find("no error") != std::string::npos) return line;
  }
  return {};
}

class MismatchedRanks : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    static std::map<std::string, std::string> absent;
    if (const auto [row, is_new] = absent.try_emplace(GetParam()); is_new) {
      const CommandResult there = run(GetParam(), {TUTTI_TEST_FAULT_PROGRAM, "leave"});
      if (there.output.find("exit code 0") == std::string::npos) row->second = there.output;
    }
    if (!absent[GetParam()].empty()) TUTTI_SKIP_OR_FAIL(GetParam(), absent[GetParam()]);
  }
  /// Runs ranks of which rank 1 differs; every rank gets invalid_usage with all these words.
  void expect(const char* how, std::initializer_list<std::string_view> words, const char* check = "auto") {
    const CommandResult result = run(GetParam(), {TUTTI_TEST_MISMATCHED_RANKS, how}, check);
    EXPECT_FALSE(result.timed_out) << how << '\n' << result.output;
    for (int rank = 0; rank < 3; ++rank) {
      const std::string line = line_of(result.output, rank);
      for (const std::string_view word : words) {
        EXPECT_NE(line.find(word), std::string::npos) << how << ": no '" << word << "' of rank " << rank << " in\n"
                                                      << result.output;
      }
    }
  }
};

TEST_P(MismatchedRanks, AreNamedWithBothCalls) {
  const std::string_view reduction = "allreduce(sum) #21 of 3000 float64";
  expect("count", {"do not agree", "rank 1 calls allreduce(sum) #21 of 2500 float64", reduction});
  expect("operation", {"do not agree", "rank 1 calls barrier #21", reduction});
  expect("type", {"do not agree", "rank 1 calls allreduce(sum) #21 of 3000 int64", reduction});
  expect("reduction", {"do not agree", "rank 1 calls allreduce(max) #21", reduction});
  expect("prescale", {"do not agree", "rank 1", "TUTTI_CHECK=1"});
  expect("root", {"do not agree", "rank 1"});
  expect("small", {"do not agree", "rank 1"});
}

TEST_P(MismatchedRanks, AreNamedWithThePlaceOfTheirCalls) {
  expect("count", {"rank 0 calls allreduce", " at mismatched_ranks+0x", "rank 1 calls allreduce"}, "1");
  expect("prescale", {"prescale 2", " at mismatched_ranks+0x"}, "1");
}

TEST_P(MismatchedRanks, CallsThatAgreeAreNoError) {
  const CommandResult result = run(GetParam(), {TUTTI_TEST_MISMATCHED_RANKS, "none"});
  for (int rank = 0; rank < 3; ++rank) EXPECT_NE(line_of(result.output, rank), "") << result.output;
}

INSTANTIATE_TEST_SUITE_P(Backends, MismatchedRanks, testing::Values("mpi:openmpi", "mpi:mpich", "mpi:intel", "ccl"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::ranges::replace(name, ':', '_');
                           return name;
                         });

}  // namespace
}  // namespace tutti::test
