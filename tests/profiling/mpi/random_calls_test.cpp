// Seeded random programs: what the source records is what a second, independent counter sees, to the number.
#include <gtest/gtest.h>

#include "profiling/mpi/mpi_session.hpp"
#include "report/session_reader.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

struct Case {
  MpiKit kit;
  int ranks;
  std::string mode;
  int seed;
};

class RandomCalls : public testing::TestWithParam<Case> {};

TEST_P(RandomCalls, are_counted_like_a_second_counter_does) {
  const auto& [kit, ranks, mode, seed] = GetParam();
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("session"));
  std::filesystem::permissions(folder.file("session"), std::filesystem::perms::owner_all);
  const CommandResult run =
      run_profiled(kit, ranks, {kit.folder + "/mpi_random_calls_" + kit.name, std::to_string(seed), "150"},
                   {{"LD_PRELOAD", mpi_preload(kit, kit.folder + "/libmpi_counter_" + kit.name + ".so")},
                    {"TUTTI_PROF_SESSION", folder.file("session")},
                    {"TUTTI_PROF_MODE", mode},
                    {"COUNTER_FILE", folder.file("count")}});
  ASSERT_EQ(run.code, 0) << run.output;
  const profiling::Profile profile = profiling::read_session(folder.file("session"));
  const auto recorded = recorded_calls(profile);
  ASSERT_EQ(recorded.size(), static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    CallCounts counted = counted_calls(folder.file("count." + std::to_string(rank)), mode == "full");
    ASSERT_GT(counted.size(), 20U) << "the second counter saw too little on rank " << rank;
    if (mode == "standard") {
      counted.erase("MPI_Comm_rank");
      counted.erase("MPI_Comm_size");
    }
    EXPECT_EQ(differences(recorded.at(rank), counted, true), "") << "rank " << rank;
  }
  EXPECT_EQ(faults_of_operations(profile), "");
  EXPECT_EQ(profile.warnings, std::vector<std::string>());
}

std::vector<Case> cases() {
  std::vector<Case> all;
  int seed = 41;
  for (const MpiKit& kit : mpi_kits()) {
    all.push_back({kit, 2, "full", ++seed});
    all.push_back({kit, 3, "standard", ++seed});
    all.push_back({kit, 3, "full", ++seed});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(, RandomCalls, testing::ValuesIn(cases()), [](const auto& one) {
  return one.param.kit.name + "_" + std::to_string(one.param.ranks) + "_" + one.param.mode;
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RandomCalls);

}  // namespace
}  // namespace tutti::test
