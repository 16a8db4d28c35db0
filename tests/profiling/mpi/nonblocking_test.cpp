// Non-blocking operations last until they are completed, in whichever way.
#include <gtest/gtest.h>

#include "profiling/mpi/mpi_session.hpp"
#include "report/session_reader.hpp"
#include "sinks/arrivals.hpp"
#include "support/system/temporary_folder.hpp"

namespace tutti::test {
namespace {

using profiling::Kind;

class Nonblocking : public testing::TestWithParam<MpiKit> {
 protected:
  profiling::Profile profile_of(const std::string& mode) {
    std::filesystem::create_directory(folder_.file(mode));
    std::filesystem::permissions(folder_.file(mode), std::filesystem::perms::owner_all);
    const CommandResult run = run_profiled(
        GetParam(), 2, {GetParam().folder + "/mpi_nonblocking_" + GetParam().name, std::to_string(kPause.count())},
        {{"LD_PRELOAD", mpi_preload(GetParam(), "")},
         {"TUTTI_PROF_SESSION", folder_.file(mode)},
         {"TUTTI_PROF_MODE", mode},
         {"TUTTI_PROF_TIMELINE", "1"}});
    EXPECT_EQ(run.code, 0) << run.output;
    return profiling::read_session(folder_.file(mode));
  }

  static constexpr std::chrono::milliseconds kPause{20};
  TemporaryFolder folder_;
};

TEST_P(Nonblocking, operations_last_until_they_are_completed) {
  for (const std::string mode : {"minimal", "standard"}) {
    const profiling::Profile profile = profile_of(mode);
    std::map<std::pair<int, std::string>, int> calls;
    for (const auto& event : profile.events) {
      if (event.kind != Kind::operation) continue;
      const std::string& name = profile.names[event.name];
      ++calls[{profile.processes[static_cast<std::size_t>(event.process)].rank, name}];
      const auto lasted = std::chrono::nanoseconds(event.end_ns - event.begin_ns);
      if (name == "allreduce") EXPECT_GE(lasted, kPause) << mode;
    }
    const std::map<std::pair<int, std::string>, int> expected = {{{0, "allreduce"}, 9}, {{0, "recv"}, 9},
                                                                 {{0, "send"}, 9},      {{1, "allreduce"}, 9},
                                                                 {{1, "recv"}, 9},      {{1, "send"}, 9}};
    EXPECT_EQ(calls, expected) << mode;
    EXPECT_EQ(faults_of_operations(profile), "") << mode;
  }
}

TEST_P(Nonblocking, computation_meanwhile_is_overlap) {
  const auto ranks = profiling::measure_overlap(profile_of("standard"));
  ASSERT_EQ(ranks.size(), 2U);
  for (const auto& rank : ranks) {
    EXPECT_GE(rank.asynchronous, 9U);
    // Six pauses with collectives under way and one with messages.
    EXPECT_GE(std::chrono::nanoseconds(rank.free_ns), 7 * kPause);
    EXPECT_LE(rank.free_ns, rank.asynchronous_ns);
  }
}

INSTANTIATE_TEST_SUITE_P(, Nonblocking, testing::ValuesIn(mpi_kits()), [](const auto& one) { return one.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Nonblocking);

}  // namespace
}  // namespace tutti::test
