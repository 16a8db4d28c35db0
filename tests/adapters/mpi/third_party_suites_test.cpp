// Checking suites of others behind the adapter: tutti does the work, the MPI library below does not, and the suites
// would notice wrong results.
#include <filesystem>

#include "adapters/mpi/mpi_adapter_run.hpp"

namespace tutti::test {
namespace {

namespace fs = std::filesystem;

/// Of one suite; more ranks and threads than cores make them slow.
constexpr std::chrono::seconds kLongest{800};

class ThirdPartySuite : public MpiAdapterTest {
 protected:
  /// The environment in which Python finds mpi4py for the MPI library; empty without it.
  static Environment python_environment() {
    const std::string root = TUTTI_TEST_MPI4PY;
    std::error_code ignored;
    if (root.empty() || GetParam().name == "mpich") return {};
    for (fs::directory_iterator entry(root + "/lib", ignored), end; !ignored && entry != end; entry.increment(ignored))
      if (fs::exists(entry->path() / "site-packages/mpi4py"))
        return {{"PYTHONPATH", (entry->path() / "site-packages").string()},
                {"MPI4PY_MPIABI", GetParam().name == "openmpi" ? "openmpi" : "mpich"}};
    return {};
  }
  static std::vector<std::string> collective_tests() {
    const std::string root = TUTTI_TEST_MPI4PY;
    return {root + "/bin/python3", "-B", "-W", "ignore", root + "/source/test/main.py", "-q", "-f", "-i", "test_cco"};
  }

  CommandResult run_python(int ranks, Environment environment, const std::string& libraries) {
    environment.merge(python_environment());
    return run(ranks, collective_tests(), libraries, environment, kLongest);
  }

  /// Served calls are not seen below the adapter, all others are.
  void expect_mpi4py_served(int ranks) {
    if (python_environment().empty()) GTEST_SKIP() << "mpi4py and its tests are not there for " << GetParam().name;
    const CommandResult result = run_python(ranks, kServeAll, adapter() + ":" + counter());
    ASSERT_EQ(result.code, 0) << result.output;
    EXPECT_TRUE(std::regex_search(result.output, std::regex(R"(Ran \d{3,} tests[^\n]*\s+OK)"))) << result.output;
    const CallCounts below = counted();
    auto shown = shown_calls(result.output);
    for (const char* name : {"MPI_Allgather", "MPI_Allgatherv", "MPI_Allreduce", "MPI_Alltoall", "MPI_Alltoallv",
                             "MPI_Barrier", "MPI_Bcast", "MPI_Gather", "MPI_Gatherv", "MPI_Iallreduce", "MPI_Reduce",
                             "MPI_Reduce_scatter", "MPI_Reduce_scatter_block", "MPI_Scatter", "MPI_Scatterv"}) {
      std::uint64_t passed = 0;
      for (const char* suffix : {"", "_c"})
        if (const auto found = below.find(std::string(name) + suffix); found != below.end())
          passed += found->second.calls;
      EXPECT_GT(shown[name].served, 0U) << name << '\n' << result.output;
      EXPECT_EQ(shown[name].passed, passed) << name;
    }
  }
};

TEST_P(ThirdPartySuite, mpi4py_of_two_ranks_is_served) { expect_mpi4py_served(2); }
TEST_P(ThirdPartySuite, mpi4py_of_three_ranks_is_served) { expect_mpi4py_served(3); }

TEST_P(ThirdPartySuite, mpi4py_notices_a_wrong_backend) {
  if (python_environment().empty()) GTEST_SKIP() << "mpi4py and its tests are not there for " << GetParam().name;
  const CommandResult result = run_python(2, with_wrong_sums(), adapter());
  EXPECT_NE(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("AssertionError"), std::string::npos) << result.output;
}

/// The checking benchmarks of threads, of Intel MPI; empty where they are not there.
std::vector<std::string> checking_benchmarks(const MpiKit& kit) {
  const auto root = kit.environment.find("I_MPI_ROOT");
  const std::string file = root == kit.environment.end() ? "" : root->second + "/bin/IMB-MT";
  if (!std::filesystem::exists(file)) return {};
  return {file,     "-thread_level", "multiple", "AllReduceMT", "BcastMT", "ReduceMT",
          "-count", "1,1000,100000", "-repeat",  "20",          "-check",  "yes"};
}

TEST_P(ThirdPartySuite, intel_benchmarks_of_threads_find_no_wrong_data) {
  const std::vector<std::string> benchmarks = checking_benchmarks(GetParam());
  if (benchmarks.empty()) GTEST_SKIP() << "IMB-MT of Intel MPI is not for " << GetParam().name;
  const CommandResult result = run(2, benchmarks, adapter(), kServeAll, kLongest);
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_EQ(result.output.find("CHECK FAILURE"), std::string::npos) << result.output;
  EXPECT_GT(shown_calls(result.output)["MPI_Allreduce"].served, 0U) << result.output;
}

TEST_P(ThirdPartySuite, intel_benchmarks_of_threads_notice_a_wrong_backend) {
  const std::vector<std::string> benchmarks = checking_benchmarks(GetParam());
  if (benchmarks.empty()) GTEST_SKIP() << "IMB-MT of Intel MPI is not for " << GetParam().name;
  const CommandResult result = run(2, benchmarks, adapter(), with_wrong_sums(), kLongest);
  EXPECT_NE(result.output.find("CHECK FAILURE"), std::string::npos) << result.output;
}

INSTANTIATE_TEST_SUITE_P(, ThirdPartySuite, testing::ValuesIn(mpi_kits()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test
