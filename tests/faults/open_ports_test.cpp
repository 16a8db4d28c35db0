// A job on one host listens on the loopback interface only: nobody in the network can reach it.
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/required_backends.hpp"
#include "support/system/subprocess.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

void expect_no_ports(const CommandResult& result, const char* rank) {
  EXPECT_FALSE(result.timed_out) << result.output;
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find(std::string("rank ") + rank + " with "), std::string::npos) << result.output;
}

CommandResult run(const char* target, const char* mode) {
  return run_command({TUTTI_TEST_COMMAND, "run", "-n", "2", "--backend", target, "--timeout", "90s", "--",
                      TUTTI_TEST_FAULT_PROGRAM, mode},
                     {}, 120s);
}

class OpenPorts : public testing::TestWithParam<const char*> {};

TEST_P(OpenPorts, OfAJobOnOneHostAreNone) {
  if (const CommandResult there = run(GetParam(), "leave"); there.code != 0) {
    TUTTI_SKIP_OR_FAIL(GetParam(), there.output);
  }
  const CommandResult result = run(GetParam(), "ports");
  expect_no_ports(result, "0");
  expect_no_ports(result, "1");
}

INSTANTIATE_TEST_SUITE_P(Backends, OpenPorts, testing::Values("native", "ccl"),
                         [](const auto& row) { return std::string(row.param); });

// Without a launcher oneCCL sends through libfabric, which has ports of its own.
TEST(OpenPortsWithoutLauncher, OfOneCclAreNone) {
  if (const CommandResult there = run("ccl", "leave"); there.code != 0) TUTTI_SKIP_OR_FAIL("ccl", there.output);
  const std::map<std::string, std::string> job = {{"MASTER_ADDR", "127.0.0.1"},
                                                  {"MASTER_PORT", std::to_string(20000 + getpid() % 20000)},
                                                  {"WORLD_SIZE", "2"},
                                                  {"TUTTI_BACKEND", "ccl"}};
  const auto rank = [&](const char* number) {
    auto environment = job;
    environment["RANK"] = number;
    return environment;
  };
  const auto deadline = std::chrono::steady_clock::now() + 120s;
  Subprocess other({TUTTI_TEST_FAULT_PROGRAM, "ports"}, rank("1"));
  expect_no_ports(run_command({TUTTI_TEST_FAULT_PROGRAM, "ports"}, rank("0"), 120s), "0");
  const auto ended = other.wait(deadline);
  ASSERT_TRUE(ended.has_value()) << other.output();
  EXPECT_EQ(ended->code, 0) << other.output();
}

}  // namespace
}  // namespace tutti::test
