// oneCCL through its C interface (TUTTI_CCL_API=c), between ranks that are processes.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <map>
#include <regex>

#include "faults/expect_error.hpp"
#include "support/required_backends.hpp"
#include "support/system/subprocess.hpp"
#include "tutti/tutti.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

using Environment = std::map<std::string, std::string>;

const Environment kCInterface = {{"TUTTI_CCL_API", "c"}};

CommandResult tutti_run(int ranks, const std::vector<std::string>& words, const Environment& environment) {
  std::vector<std::string> command = {TUTTI_TEST_COMMAND, "run",  "-n", std::to_string(ranks), "--backend", "ccl",
                                      "--timeout",        "130s", "--"};
  command.insert(command.end(), words.begin(), words.end());
  return run_command(command, environment, 160s);
}

// Fails the test unless the ranks succeeded and printed `summary`. Skips it if the library has no C interface.
void expect_success(const CommandResult& result, const std::string& summary) {
  if (result.code != 0) {
    const CommandResult hello = tutti_run(2, {TUTTI_TEST_RANKS_PROGRAM, "--hello"}, kCInterface);
    if (hello.code != 0) TUTTI_SKIP_OR_FAIL("ccl", hello.output);
  }
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find(summary), std::string::npos) << "expected: " << summary << "\n" << result.output;
  EXPECT_FALSE(std::regex_search(result.output, std::regex("\\|(CCL_)?(WARN|ERROR)\\|")))
      << "oneCCL printed a warning or an error\n"
      << result.output;
}

void expect_conformance(int ranks, std::vector<std::string> words) {
  words.insert(words.begin(), {TUTTI_TEST_RANKS_PROGRAM, "--deadline", "110"});
  expect_success(tutti_run(ranks, words, kCInterface), "conformance: " + std::to_string(ranks) + " ranks on ccl,");
}

TEST(CclCInterface, EveryOperationTypeAndReductionOnTwoRanks) { expect_conformance(2, {"--plan", "full", "--large"}); }
TEST(CclCInterface, EveryOperationTypeAndReductionOnThreeRanks) { expect_conformance(3, {"--plan", "full"}); }

TEST(CclCInterface, AsynchronousOperationsAndATimeout) {
  expect_conformance(2, {"--scenario", "async_in_flight", "--scenario", "timeout"});
}

TEST(CclCInterface, AnOperationIsOneCallIntoIt) {
  expect_success(tutti_run(2, {TUTTI_TEST_COST_PROGRAM}, kCInterface), "cost: 2 ranks on ccl,");
}

// oneCCL does not notice the death of a rank: tutti watches the ranks and ends the call.
TEST(CclCInterface, ARankThatIsKilledIsNamed) {
  const std::string port = std::to_string(20000 + getpid() % 40000);
  std::vector<Subprocess> ranks;
  for (const char* rank : {"0", "1"}) {
    const Environment environment = {{"RANK", rank},         {"LOCAL_RANK", rank},         {"WORLD_SIZE", "2"},
                                     {"MASTER_PORT", port},  {"MASTER_ADDR", "127.0.0.1"}, {"TUTTI_BACKEND", "ccl"},
                                     {"TUTTI_TIMEOUT", "0"}, {"TUTTI_CCL_API", "c"}};
    ranks.emplace_back(std::vector<std::string>{TUTTI_TEST_FAULT_PROGRAM, "loop", "1"}, environment);
  }
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  ASSERT_TRUE(ranks[0].wait_for_output("in the middle", deadline)) << ranks[0].output();
  ranks[1].kill(SIGKILL);
  const auto status = ranks[0].wait(deadline);
  ASSERT_TRUE(status.has_value()) << "rank 0 hangs\n" << ranks[0].output();
  EXPECT_EQ(status->code, 42) << ranks[0].output();
  for (const char* words : {"peer_failure: ", "rank 1 (pid ", "has ended without destroying its communicator"}) {
    EXPECT_NE(ranks[0].output().find(words), std::string::npos) << ranks[0].output();
  }
}

TEST(CclCInterface, MustBeWantedByAllRanks) {
  const std::string wants =
      "if [ \"${RANK:-$PMI_RANK}\" = 1 ]; then export TUTTI_CCL_API=c; fi; exec " TUTTI_TEST_RANKS_PROGRAM
      " --hello --deadline 40";
  const CommandResult result = tutti_run(2, {"sh", "-c", wants}, {});
  EXPECT_NE(result.code, 0) << result.output;
  EXPECT_FALSE(result.timed_out);
  EXPECT_NE(result.output.find("TUTTI_CCL_API must be the same on all ranks: rank 0 uses oneCCL's C++ interface, rank "
                               "1 its C interface"),
            std::string::npos)
      << result.output;
}

TEST(CclCInterface, IsShown) {
  const auto shows = [](const char* api, const char* pattern) {
    const CommandResult result =
        run_command({TUTTI_TEST_COMMAND, "info", "--json"}, Environment{{"TUTTI_CCL_API", api}}, 60s);
    EXPECT_EQ(result.code, 0) << result.output;
    EXPECT_TRUE(std::regex_search(result.output, std::regex(pattern))) << pattern << "\n" << result.output;
    return result.output;
  };
  const std::string text = shows("c", "\"oneCCL [0-9.]+, C\"");
  EXPECT_NE(text.find("CCL_PLUGIN=ONECCL_LEGACY_CPU"), std::string::npos) << text;
  EXPECT_NE(text.find("libccl.so.2"), std::string::npos) << text;
  (void)shows("auto", "\"oneCCL [0-9.]+, C\\+\\+\"");
}

// In this test, the test process is a rank.
TEST(CclCInterfaceIsNotUsable, WhereTheOtherOneIsInUse) {
  CommunicatorOptions options = {.config = Config().set("TUTTI_BACKEND", "ccl"), .name = "first"};
  try {
    const Communicator first = world(options);
  } catch (const Error& error) {
    TUTTI_SKIP_OR_FAIL("ccl", error.what());
  }
  options.name = "second";
  options.config.set("TUTTI_CCL_API", "c");
  expect_error(ErrorCode::backend_unavailable, {"already uses oneCCL's other interface", "TUTTI_CCL_API"},
               [&] { (void)world(options); });
}

TEST(CclCInterfaceIsNotUsable, WithoutItsLibrary) {
  const CommandResult result = tutti_run(1, {TUTTI_TEST_RANKS_PROGRAM, "--hello"},
                                         {{"TUTTI_CCL_API", "c"}, {"TUTTI_ONECCL_ROOT", "/no/such/folder"}});
  EXPECT_NE(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("TUTTI_CCL_API=c: TUTTI_ONECCL_ROOT: /no/such/folder/lib/libccl.so.2: cannot open"),
            std::string::npos)
      << result.output;
}

TEST(CclCInterfaceIsNotUsable, UnderAnotherName) {
  const CommandResult result =
      tutti_run(1, {TUTTI_TEST_RANKS_PROGRAM, "--hello"}, Environment{{"TUTTI_CCL_API", "fortran"}});
  EXPECT_NE(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("TUTTI_CCL_API=fortran is not a choice; accepted: auto, c++ or c"), std::string::npos)
      << result.output;
}

}  // namespace
}  // namespace tutti::test
