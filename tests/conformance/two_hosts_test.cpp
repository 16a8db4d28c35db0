// A backend of two levels on two emulated hosts: the native engine within each host, MPI between their first ranks.
#include <gtest/gtest.h>

#include <string>

#include "support/system/subprocess.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

CommandResult on_two_hosts(const std::string& backend) {
  return run_command({TUTTI_TEST_TWO_HOSTS, TUTTI_TEST_RANKS_PROGRAM},
                     {{"TUTTI_BACKEND", backend}, {"TUTTI_MODULE_PATH", TUTTI_TEST_MODULES}}, 100s);
}

constexpr int kNotPossible = 77;  // exit code of two_hosts.sh

TEST(TwoHosts, NativeWithinAHostAndMpiBetween) {
  const CommandResult result = on_two_hosts("fake_hierarchy:mpi:openmpi");
  if (result.code == kNotPossible) GTEST_SKIP() << result.output;
  EXPECT_EQ(result.code, 0) << result.output;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string line = "rank " + std::to_string(rank) + " of 4 on fake_hierarchy, 2 hosts, 0 wrong";
    EXPECT_NE(result.output.find(line), std::string::npos) << "expected: " << line << "\n" << result.output;
  }
}

// The native engine alone cannot: the test above ran on two hosts.
TEST(TwoHosts, NativeRefusesThem) {
  const CommandResult result = on_two_hosts("native");
  if (result.code == kNotPossible) GTEST_SKIP() << result.output;
  EXPECT_NE(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("backend native is not usable"), std::string::npos) << result.output;
}

}  // namespace
}  // namespace tutti::test
