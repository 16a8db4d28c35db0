// Unmodified MPI programs behind the adapter: the same results as without it, carried out by tutti.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "adapters/mpi/mpi_adapter_run.hpp"
#include "tutti/info.hpp"
#include "tutti/tuning.hpp"

namespace tutti::test {
namespace {

class MpiAdapter : public MpiAdapterTest {
 protected:
  void expect_served(int ranks) {
    const CommandResult plain = run(ranks, {program()}, counter(), {});
    ASSERT_EQ(plain.code, 0) << plain.output;
    const CallCounts before = counted();
    const CommandResult result = run(ranks, {program()}, adapter() + ":" + counter(), kServeAll);
    ASSERT_EQ(result.code, 0) << result.output;
    EXPECT_EQ(digests(result.output), digests(plain.output)) << result.output;
    EXPECT_EQ(digests(result.output).size(), static_cast<std::size_t>(ranks)) << result.output;
    EXPECT_EQ(result.output.find("saturate"), std::string::npos) << result.output;
    const CallCounts after = counted();
    const auto shown = shown_calls(result.output);
    for (const char* name : {"MPI_Allgather", "MPI_Allgatherv", "MPI_Allreduce", "MPI_Alltoall", "MPI_Alltoallv",
                             "MPI_Barrier", "MPI_Bcast", "MPI_Gather", "MPI_Gatherv", "MPI_Reduce",
                             "MPI_Reduce_scatter", "MPI_Reduce_scatter_block", "MPI_Scatter", "MPI_Scatterv"}) {
      ASSERT_TRUE(shown.contains(name)) << name << '\n' << result.output;
      const Shown& calls = shown.at(name);
      EXPECT_GT(calls.served, 0U) << name;
      EXPECT_EQ(calls.served + calls.passed, before.at(name).calls) << name;
      EXPECT_EQ(calls.passed, after.contains(name) ? after.at(name).calls : 0) << name;
    }
    EXPECT_EQ(shown.at("MPI_Scan").served, 0U);
    EXPECT_EQ(shown.at("MPI_Scan").passed, after.at("MPI_Scan").calls);
  }
};

TEST_P(MpiAdapter, serves_two_ranks_with_the_results_of_mpi) { expect_served(2); }
TEST_P(MpiAdapter, serves_three_ranks_with_the_results_of_mpi) { expect_served(3); }

/// A tuning file in which native is faster in allreduce and slower in broadcast, at all sizes.
std::string tuning_text(const std::string& product) {
  TuningTable table;
  table.tutti = version();
  table.machine = this_tuning_machine();
  table.host = "test";
  table.libraries = {{"native", std::string(version())}};
  const auto row = [&](OpKind kind, TypeClass types, double native_us) {
    const TunedBackend native{.spec = "native", .times = {{.bytes = 1024, .us = native_us}}};
    const TunedBackend mpi{.spec = "mpi:" + product, .times = {{.bytes = 1024, .us = 10}}};
    TuningRow made{.op = kind, .types = types, .ranks_from = 2, .ranks_to = 2, .backends = {}};
    made.backends = native_us < 10 ? std::vector{native, mpi} : std::vector{mpi, native};
    table.rows.push_back(made);
  };
  for (const TypeClass types : {TypeClass::floating, TypeClass::integer}) row(OpKind::allreduce, types, 1);
  row(OpKind::broadcast, TypeClass::any, 100);
  return to_text(table);
}

TEST_P(MpiAdapter, tuning_file_decides_which_sizes_are_served) {
  const std::string file = folder_.add("tuning", tuning_text(GetParam().name));
  const Environment settings = {{"TUTTI_PRELOAD_AFTER", "0"}, {"TUTTI_SHOW", "1"}, {"TUTTI_TUNING", file}};
  const auto served = [](const CommandResult& result, const char* name) {
    return shown_calls(result.output)[name].served;
  };
  const CommandResult tuned = run(2, {program()}, adapter(), settings);
  ASSERT_EQ(tuned.code, 0) << tuned.output;
  EXPECT_NE(
      tuned.output.find("sizes that are served: by the times of native against mpi:" + GetParam().name + " in " + file),
      std::string::npos)
      << tuned.output;
  Environment without = settings;
  without["TUTTI_TUNING"] = "none";
  const CommandResult plain = run(2, {program()}, adapter(), without);
  ASSERT_EQ(plain.code, 0) << plain.output;
  EXPECT_NE(plain.output.find("sizes that are served: built in"), std::string::npos) << plain.output;
  EXPECT_GT(served(tuned, "MPI_Allreduce"), served(plain, "MPI_Allreduce")) << tuned.output << plain.output;
  EXPECT_EQ(served(tuned, "MPI_Bcast"), 0U) << tuned.output;
  EXPECT_EQ(digests(tuned.output), digests(plain.output));
  // A table that a rank lacks is used by none.
  const std::string line = "test ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 || export TUTTI_TUNING=none; exec " + program();
  const CommandResult partly = run(2, {"sh", "-c", line}, adapter(), settings);
  ASSERT_EQ(partly.code, 0) << partly.output;
  EXPECT_NE(partly.output.find("sizes that are served: built in"), std::string::npos) << partly.output;
  EXPECT_EQ(served(partly, "MPI_Allreduce"), served(plain, "MPI_Allreduce")) << partly.output;
}

TEST_P(MpiAdapter, wrong_results_of_a_backend_are_noticed) {
  const CommandResult result = run(2, {program()}, adapter(), with_wrong_sums());
  EXPECT_NE(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("wrong: allreduce"), std::string::npos) << result.output;
}

TEST_P(MpiAdapter, stays_out_of_the_way_when_it_is_off_or_set_wrongly) {
  const CommandResult off = run(2, {program()}, adapter() + ":" + counter(), {{"TUTTI_PRELOAD", "0"}});
  ASSERT_EQ(off.code, 0) << off.output;
  EXPECT_EQ(off.output.find("tutti"), std::string::npos) << off.output;
  const std::uint64_t calls = counted().at("MPI_Allreduce").calls;
  const CommandResult wrong =
      run(2, {program()}, adapter() + ":" + counter(), {{"TUTTI_PRELOAD_OPS", "allreduce,nonsense"}});
  ASSERT_EQ(wrong.code, 0) << wrong.output;
  EXPECT_NE(wrong.output.find("TUTTI_PRELOAD_OPS names the operation \"nonsense\", which is unknown"),
            std::string::npos)
      << wrong.output;
  EXPECT_EQ(counted().at("MPI_Allreduce").calls, calls);
  EXPECT_EQ(digests(off.output), digests(wrong.output));
}

TEST_P(MpiAdapter, refused_backend_leaves_the_communicators_to_mpi) {
  Environment environment = kServeAll;
  environment["TUTTI_BACKEND"] = "no_such_backend";
  const CommandResult result = run(2, {program()}, adapter(), environment);
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("a communicator is left to MPI"), std::string::npos) << result.output;
  EXPECT_EQ(shown_calls(result.output).at("MPI_Allreduce").served, 0U);
}

TEST_P(MpiAdapter, fortran_program_is_served) {
  const std::string fortran = GetParam().folder + "/mpi_known_calls_" + GetParam().name;
  if (!std::filesystem::exists(fortran)) GTEST_SKIP() << "no Fortran compiler for " << GetParam().name;
  // Of three ranks, the first and the last are in the program's second communicator.
  const CommandResult result = run(3, {fortran}, adapter(), kServeAll);
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_EQ(result.output.find("wrong"), std::string::npos) << result.output;
  EXPECT_GT(shown_calls(result.output)["MPI_Allreduce"].served, 0U) << result.output;
  EXPECT_EQ(shown_calls(result.output)["MPI_Bcast"].served, 1U) << result.output;
}

TEST_P(MpiAdapter, command_brings_the_adapter_into_a_launcher) {
  std::vector<std::string> line = {TUTTI_TEST_COMMAND, "preload", "mpi", "--show", "--"};
  line.insert(line.end(), GetParam().launcher.begin(), GetParam().launcher.end());
  line.insert(line.end(), {"-n", "2", program()});
  Environment environment = GetParam().environment;
  environment.insert(kServeAll.begin(), kServeAll.end());
  const CommandResult result = run_command(line, environment, std::chrono::seconds(100));
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_GT(shown_calls(result.output)["MPI_Allreduce"].served, 0U) << result.output;
}

INSTANTIATE_TEST_SUITE_P(, MpiAdapter, testing::ValuesIn(mpi_kits()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test
