// Programs that were not written for the source: Fortran, Python, Intel's benchmarks; and control by the program.
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "profiling/mpi/mpi_session.hpp"
#include "report/session_reader.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

constexpr int kRanks = 2;

class RealPrograms : public testing::TestWithParam<MpiKit> {
 protected:
  // Runs a command on two ranks with the source, and with the second counter if `counted`.
  CommandResult run(const std::vector<std::string>& command, bool counted,
                    std::map<std::string, std::string> environment = {}) {
    const MpiKit& kit = GetParam();
    std::filesystem::create_directory(session());
    std::filesystem::permissions(session(), std::filesystem::perms::owner_all);
    environment["LD_PRELOAD"] =
        mpi_preload(kit, counted ? kit.folder + "/libmpi_counter_" + kit.name + ".so" : std::string());
    environment["TUTTI_PROF_SESSION"] = session();
    environment["COUNTER_FILE"] = folder_.file("count");
    return run_profiled(kit, kRanks, command, environment);
  }
  [[nodiscard]] std::string session() const { return folder_.file("session"); }
  [[nodiscard]] profiling::Profile profile() const { return profiling::read_session(session()); }
  [[nodiscard]] CallCounts counted(int rank) const {
    return counted_calls(folder_.file("count." + std::to_string(rank)), false);
  }

  TemporaryFolder folder_;
};

void expect_known_calls(const CommandResult& run, const profiling::Profile& profile) {
  ASSERT_EQ(run.code, 0) << run.output;
  EXPECT_EQ(run.output.find("wrong"), std::string::npos) << run.output;
  const CallCounts expected = {{"MPI_Init", {1, 0, 0}},
                               {"MPI_Allreduce", {6, 0, 628}},
                               {"MPI_Allgatherv", {1, 0, 12}},
                               {"MPI_Comm_split", {1, 0, 0}},
                               {"MPI_Bcast", {1, 0, 32}},
                               {"MPI_Ibarrier", {1, 0, 0}},
                               {"MPI_Wait", {1, 0, 0}},
                               {"MPI_Comm_free", {1, 0, 0}},
                               {"MPI_Type_vector", {1, 0, 0}},
                               {"MPI_Type_commit", {1, 0, 0}},
                               {"MPI_Sendrecv", {1, 0, 48}},
                               {"MPI_Type_free", {1, 0, 0}},
                               {"MPI_Comm_set_errhandler", {1, 0, 0}},
                               {"MPI_Send", {1, 1, 0}},
                               {"MPI_Finalize", {1, 0, 0}}};
  const auto recorded = recorded_calls(profile);
  ASSERT_EQ(recorded.size(), static_cast<std::size_t>(kRanks));
  for (const auto& [rank, calls] : recorded) EXPECT_EQ(differences(calls, expected, true), "") << "rank " << rank;
  EXPECT_EQ(faults_of_operations(profile), "");
}

TEST_P(RealPrograms, fortran_program_is_counted_exactly) {
  const std::string program = GetParam().folder + "/mpi_known_calls_" + GetParam().name;
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "no Fortran compiler for " << GetParam().name;
  const CommandResult result = run({program}, false);
  expect_known_calls(result, profile());
}

TEST_P(RealPrograms, fortran_2008_program_is_counted_exactly) {
  const std::string program = GetParam().folder + "/mpi_known_calls_f08_" + GetParam().name;
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "no Fortran compiler for " << GetParam().name;
  const CommandResult result = run({program}, false);
  expect_known_calls(result, profile());
}

/// Calls of the forms for large counts, which newer mpi4py makes where MPI has them, under the names of the others.
CallCounts without_forms(const CallCounts& calls) {
  CallCounts merged;
  for (const auto& [name, count] : calls) {
    CallCount& sum = merged[name.ends_with("_c") ? name.substr(0, name.size() - 2) : name];
    sum.calls += count.calls;
    sum.errors += count.errors;
    sum.bytes += count.bytes;
  }
  return merged;
}

TEST_P(RealPrograms, python_program_that_opens_mpi_late_is_counted_exactly) {
  // Debian's mpi4py is built for Open MPI; the wheel takes the libmpi.so.12 that the loader finds.
  const std::map<std::string, std::pair<std::string, std::string>> pythons = {
      {"openmpi", {TUTTI_TEST_PYTHON, "Open MPI"}}, {"intel", {TUTTI_TEST_MPI4PY_ROOT "/bin/python3", "Intel MPI"}}};
  const auto found = pythons.find(GetParam().name);
  if (found == pythons.end()) GTEST_SKIP() << "no mpi4py for " << GetParam().name;
  const auto& [python, vendor] = found->second;
  if (!std::filesystem::exists(python)) GTEST_SKIP() << "the build has no mpi4py for " << GetParam().name;
  const auto probe = run_command({python, "-c", "from mpi4py import MPI; print(MPI.get_vendor()[0])"},
                                 GetParam().environment, std::chrono::seconds(60));
  if (probe.code != 0 || probe.output.find(vendor) == std::string::npos)
    GTEST_SKIP() << python << " has no mpi4py for " << GetParam().name << ": " << probe.output;
  const CommandResult result = run({python, TUTTI_TEST_SOURCE_DIR "/known_calls.py"}, false);
  ASSERT_EQ(result.code, 0) << result.output;
  const profiling::Profile merged = profile();
  const CallCounts expected = {{"MPI_Allreduce", {5, 0, 200}}, {"MPI_Bcast", {1, 0, 40}},
                               {"MPI_Comm_split", {1, 0, 0}},  {"MPI_Barrier", {1, 0, 0}},
                               {"MPI_Ibarrier", {1, 0, 0}},    {"MPI_Wait", {1, 0, 0}},
                               {"MPI_Init_thread", {1, 0, 0}}, {"MPI_Finalize", {1, 0, 0}}};
  const auto recorded = recorded_calls(merged);
  ASSERT_EQ(recorded.size(), static_cast<std::size_t>(kRanks));
  for (const auto& [rank, calls] : recorded)
    EXPECT_EQ(differences(without_forms(calls), expected, false), "") << "rank " << rank;
  EXPECT_EQ(faults_of_operations(merged), "");
}

TEST_P(RealPrograms, intel_benchmarks_are_counted_like_a_second_counter_does) {
  const auto root = GetParam().environment.find("I_MPI_ROOT");
  if (root == GetParam().environment.end()) GTEST_SKIP() << "the benchmarks are Intel MPI's";
  const CommandResult result =
      run({root->second + "/bin/IMB-MPI1", "Allreduce", "-npmin", "2", "-iter", "20", "-msglog", "3:8"}, true);
  ASSERT_EQ(result.code, 0) << result.output;
  const auto recorded = recorded_calls(profile());
  ASSERT_EQ(recorded.size(), static_cast<std::size_t>(kRanks));
  for (const auto& [rank, calls] : recorded) {
    ASSERT_TRUE(calls.contains("MPI_Allreduce")) << "rank " << rank;
    EXPECT_GE(calls.at("MPI_Allreduce").calls, 7 * 20U) << "rank " << rank;
    CallCounts others = counted(rank);
    others.erase("MPI_Comm_rank");
    others.erase("MPI_Comm_size");
    EXPECT_EQ(differences(calls, others, false), "") << "rank " << rank;
  }
  EXPECT_EQ(faults_of_operations(profile()), "");
}

TEST_P(RealPrograms, a_program_of_its_own_control_is_recorded_between_pcontrol_1_and_0) {
  const CommandResult result = run({GetParam().folder + "/mpi_pcontrol_" + GetParam().name}, false);
  ASSERT_EQ(result.code, 0) << result.output;
  const profiling::Profile merged = profile();
  for (const auto& [rank, calls] : recorded_calls(merged)) {
    ASSERT_TRUE(calls.contains("MPI_Allreduce")) << "rank " << rank;
    EXPECT_EQ(calls.at("MPI_Allreduce").calls, 3U) << "rank " << rank;
  }
  // Operations keep their numbers on the communicator over the pause.
  std::map<int, std::vector<std::uint64_t>> numbers;
  for (const auto& event : merged.events)
    if (event.kind == profiling::Kind::operation && merged.names[event.name] == "allreduce")
      numbers[event.process].push_back(event.sequence);
  ASSERT_EQ(numbers.size(), static_cast<std::size_t>(kRanks));
  for (const auto& [process, sequence] : numbers) EXPECT_EQ(sequence, (std::vector<std::uint64_t>{0, 3, 4}));
}

TEST_P(RealPrograms, sessions_and_threads_are_counted_exactly) {
  const CommandResult result = run({GetParam().folder + "/mpi_session_calls_" + GetParam().name}, false);
  if (GetParam().name == "openmpi") GTEST_SKIP() << "Open MPI 4 has no sessions";
  ASSERT_EQ(result.code, 0) << result.output;
  const profiling::Profile merged = profile();
  const CallCounts expected = {{"MPI_Session_init", {1, 0, 0}},
                               {"MPI_Session_finalize", {1, 0, 0}},
                               {"MPI_Group_from_session_pset", {1, 0, 0}},
                               {"MPI_Group_free", {1, 0, 0}},
                               {"MPI_Info_create", {1, 0, 0}},
                               {"MPI_Info_set", {1, 0, 0}},
                               {"MPI_Info_free", {1, 0, 0}},
                               {"MPI_Comm_create_from_group", {3, 0, 0}},
                               {"MPI_Allreduce", {150, 0, 600}},
                               {"MPI_Comm_free", {3, 0, 0}}};
  const auto recorded = recorded_calls(merged);
  ASSERT_EQ(recorded.size(), static_cast<std::size_t>(kRanks)) << "ranks must be known without MPI_Init";
  for (const auto& [rank, calls] : recorded) EXPECT_EQ(differences(calls, expected, true), "") << "rank " << rank;
  EXPECT_EQ(faults_of_operations(merged), "");
}

#ifdef TUTTI_TEST_TUTTI_PROGRAM
TEST_P(RealPrograms, calls_of_tutti_itself_are_not_recorded) {
  // The program has no MPI of its own: tutti must find the library although the source defines functions of MPI.
  const CommandResult result =
      run({TUTTI_TEST_TUTTI_PROGRAM}, false, {{"TUTTI_BACKEND", "mpi"}, {"TUTTI_PROF_MODE", "full"}});
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("rank 1 of 2: sum 3"), std::string::npos) << result.output;
  if (std::filesystem::is_empty(session())) return;
  for (const auto& [rank, calls] : recorded_calls(profile())) EXPECT_EQ(differences(calls, {}, true), "");
}
#endif

TEST_P(RealPrograms, a_process_without_mpi_is_left_alone) {
  const CommandResult result = run({"sh", "-c", "echo as it was; exit 3"}, false);
  EXPECT_NE(result.output.find("as it was"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find("libtutti"), std::string::npos) << result.output;
}

INSTANTIATE_TEST_SUITE_P(, RealPrograms, testing::ValuesIn(mpi_kits()), [](const auto& one) { return one.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RealPrograms);

}  // namespace
}  // namespace tutti::test
