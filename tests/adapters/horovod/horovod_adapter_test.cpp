// Programs written against Horovod's interface, over its adapter.
#include <gtest/gtest.h>

#include <chrono>
#include <iterator>
#include <regex>
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

TEST_P(HorovodAdapter, AnswersPythonClassOfUpstream) {
  const std::string source = TUTTI_TEST_HOROVOD;
  if (source.empty()) GTEST_SKIP() << "the Python class of Horovod is not there: ./tutti setup gets it";
  const TemporaryFolder folder;
  expect_line({"/usr/bin/python3", "-B", TUTTI_TEST_SOURCE_DIR "/upstream_basics.py", source + "/source",
               TUTTI_TEST_ADAPTER, folder.path().string()},
              "upstream's class has right answers");
}

TEST_P(HorovodAdapter, TakesTensorsOfFrameworks) { expect_line({TUTTI_TEST_PROGRAM}, "all results are right"); }

TEST_P(HorovodAdapter, ShowsTheOperationsOfRank0) {
  const std::string ranks = std::to_string(GetParam());
  const CommandResult result =
      run_command({TUTTI_TEST_COMMAND, "run", "-n", ranks, "--", TUTTI_TEST_PROGRAM}, {{"TUTTI_SHOW", "1"}}, 90s);
  ASSERT_EQ(result.code, 0) << result.output;
  const std::regex line(R"(tutti:   Allreduce: [1-9]\d* by \S*native, \d+ refused)");
  const std::sregex_iterator found(result.output.begin(), result.output.end(), line);
  EXPECT_EQ(std::distance(found, std::sregex_iterator()), 1) << result.output;
  EXPECT_NE(result.output.find("in place of Horovod's library"), std::string::npos) << result.output;
}

INSTANTIATE_TEST_SUITE_P(Ranks, HorovodAdapter, testing::Values(1, 2, 3));

}  // namespace
}  // namespace tutti::test
