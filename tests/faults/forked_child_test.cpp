// A child that a rank forks destroys its copy of the communicator at exit; that must not affect the job.
#include <gtest/gtest.h>

#include "support/required_backends.hpp"
#include "support/system/subprocess.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

struct Parameter {
  const char* name;
  const char* target;
  const char* progress_thread;
};

class ForkedChild : public testing::TestWithParam<Parameter> {};

CommandResult run(const char* target, const std::vector<std::string>& program, const char* progress_thread) {
  std::vector<std::string> command = {TUTTI_TEST_COMMAND, "run", "-n", "2", "--backend", target,
                                      "--timeout",        "90s", "--"};
  command.insert(command.end(), program.begin(), program.end());
  return run_command(command, {{"TUTTI_PROGRESS_THREAD", progress_thread}}, 120s);
}

TEST_P(ForkedChild, LeavesTheJobAlone) {
  const auto [name, target, progress_thread] = GetParam();
  if (const CommandResult there = run(target, {TUTTI_TEST_FAULT_PROGRAM, "leave"}, "0"); there.code != 0) {
    TUTTI_SKIP_OR_FAIL(target, there.output);
  }
  const CommandResult result = run(target, {TUTTI_TEST_FAULT_PROGRAM, "fork"}, progress_thread);
  EXPECT_FALSE(result.timed_out) << result.output;
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("the job went on"), std::string::npos) << result.output;
}

INSTANTIATE_TEST_SUITE_P(Backends, ForkedChild,
                         testing::Values(Parameter{"native", "native", "0"},
                                         Parameter{"native_with_thread", "native", "1"},
                                         Parameter{"openmpi", "mpi-openmpi", "0"},
                                         Parameter{"openmpi_with_thread", "mpi-openmpi", "1"},
                                         Parameter{"mpich", "mpi-mpich", "0"}, Parameter{"intel", "mpi-intel", "0"}),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace tutti::test
