// Programs that use MPI in unusual ways behind the adapter: as without it. Non-blocking calls; memory that is shared.
#include <algorithm>
#include <filesystem>

#include "adapters/mpi/mpi_adapter_run.hpp"

namespace tutti::test {
namespace {

class UnusualProgram : public MpiAdapterTest {
 protected:
  static Environment sharing(Environment environment) {
    environment["TUTTI_PRELOAD_SHARE"] = "1";
    return environment;
  }
  static std::string sharing_adapter() { return adapter() + ":" TUTTI_TEST_ADAPTERS "/libtutti_adapter_share.so"; }
};

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_P(UnusualProgram, ends_as_without_the_adapter) {
  for (const std::string mode :
       {"never_begun", "fork", "threads", "abort", "exit", "finalize_twice", "after_finalize"}) {
    SCOPED_TRACE(mode);
    const CommandResult plain = run(2, {built("unusual_ends"), mode}, "", {});
    for (const bool shares : {false, true}) {
      const CommandResult result = run(2, {built("unusual_ends"), mode}, shares ? sharing_adapter() : adapter(),
                                       shares ? sharing(kServeAll) : kServeAll);
      // Whether a launcher finds that a rank left without MPI_Finalize depends on the ranks that are still there.
      if (mode != "exit") {
        EXPECT_EQ(result.code, plain.code) << result.output << plain.output;
      }
      EXPECT_EQ(result.output.find("wrong"), std::string::npos) << result.output;
      // The launcher may end a rank before or after its end when the other one has aborted or left.
      if (mode == "abort" || mode == "exit") continue;
      EXPECT_EQ(occurrences(result.output, "reached its end"), occurrences(plain.output, "reached its end"))
          << result.output;
    }
  }
}

TEST_P(UnusualProgram, another_tool_of_mpi_in_front_or_behind_sees_its_calls) {
  const CommandResult plain = run(2, {program()}, counter(), {});
  ASSERT_EQ(plain.code, 0) << plain.output;
  const CallCounts all = counted();
  // In front: it sees all calls, and gives them to PMPI.
  const CommandResult front = run(2, {program()}, counter() + ":" + adapter(), kServeAll);
  ASSERT_EQ(front.code, 0) << front.output;
  EXPECT_EQ(counted().at("MPI_Allreduce").calls, all.at("MPI_Allreduce").calls);
  EXPECT_EQ(digests(front.output), digests(plain.output));
  // Behind: it sees what is passed on.
  const CommandResult behind = run(2, {program()}, adapter() + ":" + counter(), kServeAll);
  ASSERT_EQ(behind.code, 0) << behind.output;
  EXPECT_LT(counted()["MPI_Allreduce"].calls, all.at("MPI_Allreduce").calls);
  EXPECT_EQ(digests(behind.output), digests(plain.output));
}

TEST_P(UnusualProgram, launcher_of_another_mpi_is_named) {
  for (const MpiKit& other : mpi_kits()) {
    const bool is_same_family = (other.name == "openmpi") == (GetParam().name == "openmpi");
    if (is_same_family) continue;
    std::vector<std::string> line = other.launcher;
    line.insert(line.end(), {"-n", "2", "env", "LD_PRELOAD=" + adapter()});
    for (const auto& [name, value] : GetParam().environment) line.push_back(name + "=" + value);
    line.insert(line.end(), {built("unusual_ends"), "threads"});
    const CommandResult result = run_command(line, other.environment, std::chrono::seconds(100));
    EXPECT_EQ(occurrences(result.output, "is not the launcher's: each of them is a job of one rank"), 2U)
        << other.name << '\n'
        << result.output;
    EXPECT_EQ(occurrences(result.output, "rank 0 of 1 reached its end"), 2U) << other.name << '\n' << result.output;
  }
}

TEST_P(UnusualProgram, two_mpi_libraries_in_the_process_are_named) {
  if (GetParam().name != "mpich") GTEST_SKIP() << "the program of MPICH is taken for it";
  const auto kits = mpi_kits();
  const auto open_mpi = std::ranges::find(kits, "openmpi", &MpiKit::name);
  if (open_mpi == kits.end()) GTEST_SKIP() << "Open MPI is not there";
  // Behind MPICH's library that of Open MPI, whose functions are not reached.
  const CommandResult result = run(2, {built("unusual_ends"), "threads"},
                                   adapter() + ":" TUTTI_TEST_MPICH_FILE ":" TUTTI_TEST_OPENMPI_FILE, kServeAll);
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("two MPI libraries are in this process"), std::string::npos) << result.output;
  EXPECT_EQ(occurrences(result.output, "reached its end"), 2U) << result.output;
}

TEST_P(UnusualProgram, non_blocking_calls_are_served_with_all_threads) {
  for (const int ranks : {2, 3}) {
    const CommandResult plain = run(ranks, {built("issued_collectives")}, counter(), {});
    ASSERT_EQ(plain.code, 0) << plain.output;
    const std::uint64_t all = counted().at("MPI_Iallreduce").calls;
    const CommandResult result =
        run(ranks, {built("issued_collectives"), "3", "freed"}, adapter() + ":" + counter(), kServeAll);
    ASSERT_EQ(result.code, 0) << result.output;
    EXPECT_EQ(digests(result.output), digests(plain.output)) << result.output;
    EXPECT_EQ(digests(result.output).size(), static_cast<std::size_t>(ranks));
    auto shown = shown_calls(result.output);
    for (const char* name : {"MPI_Iallgather", "MPI_Iallgatherv", "MPI_Iallreduce", "MPI_Ialltoall", "MPI_Ialltoallv",
                             "MPI_Ibarrier", "MPI_Ibcast", "MPI_Igather", "MPI_Igatherv", "MPI_Ireduce",
                             "MPI_Ireduce_scatter", "MPI_Ireduce_scatter_block", "MPI_Iscatter", "MPI_Iscatterv"})
      EXPECT_GT(shown[name].served, 0U) << name << '\n' << result.output;
    EXPECT_EQ(shown["MPI_Iallreduce"].served + shown["MPI_Iallreduce"].passed, all) << result.output;
    EXPECT_EQ(counted()["MPI_Iallreduce"].calls, shown["MPI_Iallreduce"].passed) << result.output;
  }
}

TEST_P(UnusualProgram, ranks_with_non_blocking_calls_meet_at_any_blocking_one) {
  for (const char* shows : {"0", "1"}) {
    const Environment environment = {
        {"TUTTI_PRELOAD_OPS", "allreduce"}, {"TUTTI_PRELOAD_AFTER", "1"}, {"TUTTI_SHOW", shows}};
    const CommandResult result =
        run(2, {built("issued_collectives"), "3", "only"}, adapter() + ":" + counter(), environment);
    ASSERT_EQ(result.code, 0) << result.output;
    const CallCounts below = counted();
    EXPECT_EQ(below.at("MPI_Iallreduce").calls, 3U) << "served before the barrier, or not after it\n" << result.output;
    EXPECT_EQ(below.at("MPI_Barrier").calls, 1U);
  }
}

TEST_P(UnusualProgram, non_blocking_calls_are_served_from_sizes_of_their_own) {
  const std::map<std::string, int> from = {{"openmpi", 25}, {"intel", 20}, {"mpich", 16}};
  const int least = from.at(GetParam().name);
  for (const int log : {least - 1, least}) {
    const std::string size = std::to_string(log);
    const CommandResult result =
        run(2, {built("allreduce_times"), size, size, "issued"}, adapter(), {{"TUTTI_SHOW", "1"}});
    ASSERT_EQ(result.code, 0) << result.output;
    EXPECT_EQ(shown_calls(result.output)["MPI_Iallreduce"].served > 0, log == least) << result.output;
  }
}

TEST_P(UnusualProgram, non_blocking_calls_are_passed_on_without_all_threads) {
  const CommandResult result = run(2, {built("issued_collectives"), "2"}, adapter(), kServeAll);
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_EQ(shown_calls(result.output)["MPI_Iallreduce"].served, 0U) << result.output;
  EXPECT_NE(result.output.find("non-blocking without MPI_THREAD_MULTIPLE"), std::string::npos) << result.output;
}

TEST_P(UnusualProgram, wrong_results_of_non_blocking_calls_are_noticed) {
  const CommandResult result = run(2, {built("issued_collectives")}, adapter(), with_wrong_sums());
  EXPECT_NE(result.code, 0) << result.output;
  EXPECT_NE(result.output.find("wrong: iallreduce"), std::string::npos) << result.output;
}

TEST_P(UnusualProgram, memory_is_shared_and_behaves_like_its_own) {
  const auto run_shared = [&](Environment environment) {
    environment["TUTTI_PRELOAD_AFTER"] = "0";
    environment["TUTTI_SHOW"] = "1";
    const CommandResult result = run(2, {built("shared_memory")}, sharing_adapter(), environment);
    EXPECT_EQ(result.code, 0) << result.output;
    EXPECT_EQ(result.output.find("wrong"), std::string::npos) << result.output;
    return result.output;
  };
  const std::string shared = run_shared(sharing({}));
  std::smatch numbers;
  const std::regex line(
      R"(shared: heap (\d+), mappings (\d+), all (\d+), ordinary (\d+), present (\d+), before (\d+))");
  ASSERT_TRUE(std::regex_search(shared, numbers, line)) << shared;
  EXPECT_GE(std::stoi(numbers[1]), 20) << shared;
  // MPICH brings UCX, which puts its functions in the place of mmap() before the program begins.
  if (GetParam().name != "mpich") {
    EXPECT_GE(std::stoi(numbers[2]), 4) << shared;
  }
  EXPECT_LE(std::stoi(numbers[5]), std::stoi(numbers[6]) + 8) << "blocks were not freed\n" << shared;
  EXPECT_NE(shared.find("large blocks of memory: "), std::string::npos) << shared;
  EXPECT_GT(shown_calls(shared)["MPI_Allreduce"].served, 0U) << shared;
  EXPECT_NE(run_shared({}).find("shared: heap 0, mappings 0, all 0, ordinary 0"), std::string::npos);
}

TEST_P(UnusualProgram, memory_hooks_of_ucx_that_come_late_end_the_sharing_of_mappings) {
  Environment environment = sharing(kServeAll);
  environment["TUTTI_PRELOAD_AFTER"] = "0";
  const CommandResult result = run(2, {built("shared_memory"), "late-hooks"}, sharing_adapter(), environment);
  ASSERT_EQ(result.code, 0) << result.output;
  EXPECT_EQ(result.output.find("wrong"), std::string::npos) << result.output;
  std::smatch numbers;
  const std::regex line(
      R"(late hooks: set (\d), calls seen (\d+), shared before (\d+), mappings shared afterwards (-?\d+))");
  ASSERT_TRUE(std::regex_search(result.output, numbers, line)) << result.output;
  if (numbers[1] == "0") GTEST_SKIP() << "UCX is not there";
  EXPECT_GT(std::stoi(numbers[2]), 0) << "the hooks are not called\n" << result.output;
  EXPECT_EQ(std::stoi(numbers[4]), 0) << result.output;
  if (GetParam().name == "intel") {  // the others have such hooks from the beginning
    EXPECT_EQ(std::stoi(numbers[3]), 3) << result.output;
  }
}

TEST_P(UnusualProgram, results_on_shared_memory_are_those_of_mpi) {
  const CommandResult plain = run(3, {program()}, "", {});
  const CommandResult shared = run(3, {program()}, sharing_adapter(), sharing(kServeAll));
  ASSERT_EQ(shared.code, 0) << shared.output;
  EXPECT_EQ(digests(shared.output), digests(plain.output)) << shared.output;
}

INSTANTIATE_TEST_SUITE_P(, UnusualProgram, testing::ValuesIn(mpi_kits()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test
