// Jobs whose ranks cannot meet through MPI: the others learn it instead of waiting for ever, or working alone.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "support/required_backends.hpp"
#include "support/system/subprocess.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using Variables = std::map<std::string, std::string>;

class MpiBootstrap : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const CommandResult probe =
        run_command({TUTTI_TEST_COMMAND, "run", "-n", "1", "--backend", GetParam(), "--", "true"}, {}, 60s);
    if (probe.code != 0) TUTTI_SKIP_OR_FAIL(GetParam(), probe.output);
  }
};

TEST_P(MpiBootstrap, ARankThatNeverComesIsATimeout) {
  const CommandResult result = run_command(
      {TUTTI_TEST_COMMAND, "run", "-n", "2", "--backend", GetParam(), "--", TUTTI_TEST_RANKS_PROGRAM, "absent"},
      {{"TUTTI_RENDEZVOUS_TIMEOUT", "1s"}}, 100s);
  EXPECT_EQ(result.code, 7) << result.output;
  EXPECT_NE(result.output.find("timeout: rank 0 of 2 waited 1 s (TUTTI_RENDEZVOUS_TIMEOUT) for the other ranks"),
            std::string::npos)
      << result.output;
}

// A program that was started by the launcher of one MPI and uses another: each process has an MPI_COMM_WORLD of its
// own.
TEST_P(MpiBootstrap, OneRankEachInAJobOfSeveralIsAnError) {
  const bool is_open_mpi = std::string(GetParam()) == "mpi:openmpi";
  Variables variables = is_open_mpi ? Variables{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}}
                                    : Variables{{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}};
  // Open MPI leaves its folder behind when a process ends without MPI_Finalize.
  const TemporaryFolder folder;
  variables["TMPDIR"] = folder.path().string();
  const CommandResult result = run_command({TUTTI_TEST_RANKS_PROGRAM}, variables, 100s);
  EXPECT_EQ(result.code, 7) << result.output;
  EXPECT_NE(result.output.find("config: this process is a task of a launcher"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find("rank 0 of 4, but MPI_COMM_WORLD of"), std::string::npos) << result.output;
}

INSTANTIATE_TEST_SUITE_P(Mpi, MpiBootstrap, testing::Values("mpi:openmpi", "mpi:mpich"),
                         [](const auto& test) { return std::string(test.param).substr(4); });

// No library at all: the error names the launcher's variables and the reason.
TEST(ForeignLauncher, WithoutItsLibraryIsAnError) {
  const Variables variables = {{"PMI_RANK", "1"}, {"PMI_SIZE", "4"}, {"TUTTI_MPI_LIBRARY", "/no/such/library"}};
  const CommandResult result = run_command({TUTTI_TEST_RANKS_PROGRAM}, variables, 100s);
  EXPECT_EQ(result.code, 7) << result.output;
  EXPECT_NE(result.output.find("(PMI_RANK=1, PMI_SIZE=4) that started 4 tasks"), std::string::npos) << result.output;
  Variables alone = variables;
  alone["RANK"] = "0";
  alone["WORLD_SIZE"] = "1";
  EXPECT_EQ(run_command({TUTTI_TEST_RANKS_PROGRAM}, alone, 100s).output, "rank 0 of 1\n");
}

}  // namespace
}  // namespace tutti::test
