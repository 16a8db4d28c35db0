// A recv that gets a shorter message than it expects is an error on every MPI, which itself accepts such messages.
#include <gtest/gtest.h>

#include "support/required_backends.hpp"
#include "support/system/subprocess.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

class MessageLength : public testing::TestWithParam<const char*> {};

CommandResult run(const char* target, const char* mode) {
  return run_command({TUTTI_TEST_COMMAND, "run", "-n", "2", "--backend", target, "--timeout", "90s", "--",
                      TUTTI_TEST_FAULT_PROGRAM, mode},
                     {}, 120s);
}

TEST_P(MessageLength, OfASendMustBeThatOfTheRecv) {
  if (const CommandResult there = run(GetParam(), "leave"); there.code != 0) {
    TUTTI_SKIP_OR_FAIL(GetParam(), there.output);
  }
  const CommandResult result = run(GetParam(), "short");
  EXPECT_FALSE(result.timed_out) << result.output;
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("rank 1: short messages are refused"), std::string::npos) << result.output;
}

INSTANTIATE_TEST_SUITE_P(Backends, MessageLength, testing::Values("mpi-openmpi", "mpi-mpich", "mpi-intel"),
                         [](const auto& row) { return std::string(row.param).substr(4); });

}  // namespace
}  // namespace tutti::test
