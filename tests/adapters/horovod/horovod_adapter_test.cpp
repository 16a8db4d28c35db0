// Programs written against Horovod's interface, over its adapter.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

class HorovodAdapter : public testing::TestWithParam<int> {
 protected:
  /// Runs a program on the ranks and expects its last line of each.
  static void expect_line(const std::vector<std::string>& program, const std::string& line) {
    const std::string ranks = std::to_string(GetParam());
    std::vector<std::string> command = {TUTTI_TEST_COMMAND, "run", "-n", ranks, "--"};
    command.insert(command.end(), program.begin(), program.end());
    const CommandResult result =
        run_command(command, {{"HOROVOD_TIMELINE", ""}, {"HOROVOD_DYNAMIC_PROCESS_SETS", ""}}, 90s);
    EXPECT_EQ(result.code, 0) << result.output;
    EXPECT_FALSE(result.timed_out) << result.output;
    for (int rank = 0; rank < GetParam(); ++rank) {
      const std::string wanted = "rank " + std::to_string(rank) + " of " + ranks + ": " + line;
      EXPECT_NE(result.output.find(wanted), std::string::npos) << result.output;
    }
  }
};

TEST_P(HorovodAdapter, AnswersPythonThroughCtypes) {
  const TemporaryFolder folder;
  expect_line(
      {"/usr/bin/python3", TUTTI_TEST_SOURCE_DIR "/basics_calls.py", TUTTI_TEST_ADAPTER, folder.path().string()},
      "all answers are right");
}

TEST_P(HorovodAdapter, TakesTensorsOfFrameworks) { expect_line({TUTTI_TEST_PROGRAM}, "all results are right"); }

INSTANTIATE_TEST_SUITE_P(Ranks, HorovodAdapter, testing::Values(1, 2, 3));

}  // namespace
}  // namespace tutti::test
