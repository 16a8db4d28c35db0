// Queues of the application with oneCCL, which takes SYCL queues and whose ranks must be processes.
#include <gtest/gtest.h>

#include "support/devices/device_support.hpp"
#include "support/required_backends.hpp"
#include "support/system/subprocess.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

CommandResult run_ranks(std::vector<std::string> words, std::map<std::string, std::string> environment) {
  environment["OCL_ICD_FILENAMES"] = TUTTI_TEST_CPU_DRIVER;
  words.insert(words.begin(), {TUTTI_TEST_COMMAND, "run", "-n", "2", "--backend", "ccl", "--timeout", "120s", "--"});
  return run_command(words, environment, 150s);
}

class SyclQueues : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string reason = why_no_device("sycl"); !reason.empty()) TUTTI_SKIP_OR_FAIL("sycl", reason);
    const CommandResult hello = run_ranks({TUTTI_TEST_RANKS_PROGRAM, "--hello"}, {});
    if (hello.code != 0) TUTTI_SKIP_OR_FAIL("ccl", hello.output);
  }
};

class SyclQueueCases : public SyclQueues, public testing::WithParamInterface<const char*> {};
class SyclQueueMixtures : public SyclQueueCases {};

// TUTTI_STRICT forbids staging, except in the mixed cases, which need it.
TEST_P(SyclQueueCases, OnCcl) {
  const bool is_mixed = std::string_view(GetParam()).starts_with("mixed");
  const CommandResult result =
      run_ranks({TUTTI_TEST_QUEUES_PROGRAM, GetParam()}, {{"TUTTI_STRICT", is_mixed ? "0" : "1"}});
  EXPECT_EQ(result.code, 0) << result.output;
  for (const char* rank : {"[0]", "[1]"}) {
    const std::string line = std::string(rank) + " passed " + GetParam();
    EXPECT_NE(result.output.find(line), std::string::npos) << line << " is not in: " << result.output;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SyclQueueCases,
                         testing::Values("in_order", "out_of_order", "mixed_in_order", "mixed_out_of_order", "contexts",
                                         "kinds", "refusals", "abort", "timeout", "reports"),
                         [](const auto& name) { return std::string(name.param); });

// With TUTTI_CCL_QUEUES=direct, as on a GPU, oneCCL takes device memory only: other kinds of memory must not reach it.
TEST_P(SyclQueueMixtures, OnCclThatEnqueues) {
  const CommandResult result = run_ranks({TUTTI_TEST_QUEUES_PROGRAM, GetParam()}, {{"TUTTI_CCL_QUEUES", "direct"}});
  EXPECT_EQ(result.code, 0) << result.output;
  for (const char* rank : {"[0]", "[1]"}) {
    const std::string line = std::string(rank) + " passed " + GetParam();
    EXPECT_NE(result.output.find(line), std::string::npos) << line << " is not in: " << result.output;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SyclQueueMixtures, testing::Values("kinds", "mixed_in_order", "mixed_out_of_order"),
                         [](const auto& name) { return std::string(name.param); });

// As on a GPU, oneCCL itself waits for the queue. On the CPU it blocks the host meanwhile, but the results are the
// same.
TEST_F(SyclQueues, EveryOperationEnqueuedByOneCcl) {
  const CommandResult result =
      run_ranks({TUTTI_TEST_RANKS_PROGRAM, "--deadline", "100", "--device", "sycl", "--plan", "rotated", "--large"},
                {{"TUTTI_CCL_QUEUES", "direct"}});
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find(", 0 failures"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace tutti::test
