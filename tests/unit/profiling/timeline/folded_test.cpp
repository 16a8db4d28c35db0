#include <gtest/gtest.h>

#include <sstream>

#include "sinks/timeline/timeline.hpp"
#include "synthetic_profile.hpp"

namespace tutti::test {
namespace {

using profiling::EventRow;
using profiling::Kind;
using profiling::Profile;

std::string folded(const Profile& profile) {
  std::string text;
  profiling::write_folded(profile, [&](std::string_view bytes) { text += bytes; });
  return text;
}

class Folded : public ::testing::Test {
 protected:
  Folded() {
    context_ = builder_.context({.operation = "allreduce", .type = {}, .backend = {}, .label = {}, .bytes = 1 << 20});
  }

  void add(Kind kind, std::string_view name, std::uint64_t begin_us, std::uint64_t end_us, std::uint32_t region = 0) {
    builder_.event(name, {.kind = kind,
                          .source = kind == Kind::operation ? tutti_ : mpi_,
                          .process = process_,
                          .context = context_,
                          .thread = 1000,
                          .region = region,
                          .begin_ns = begin_us * 1000,
                          .end_ns = end_us * 1000});
  }

  ProfileBuilder builder_;
  int tutti_ = builder_.source("BACKEND_TUTTI", 9);
  int mpi_ = builder_.source("BACKEND_MPI", 3);
  int process_ = builder_.process("node", 0);
  int context_ = 0;
};

TEST_F(Folded, TimeOfACallIsNotCountedAgainAroundIt) {
  const std::uint32_t step = builder_.name("step");
  add(Kind::operation, "allreduce", 100, 200, step);
  add(Kind::host, "MPI_Allreduce", 110, 180, step);
  add(Kind::host, "zeFenceHostSynchronize", 120, 130, step);
  add(Kind::operation, "allreduce", 300, 320, step);
  EXPECT_EQ(folded(builder_.finish()),
            "rank 0;step 100\n"
            "rank 0;step;allreduce 1 MiB 50\n"
            "rank 0;step;allreduce 1 MiB;MPI_Allreduce 60\n"
            "rank 0;step;allreduce 1 MiB;MPI_Allreduce;zeFenceHostSynchronize 10\n");
}

TEST_F(Folded, OverlappingOperationsCountOnce) {
  add(Kind::operation, "allreduce", 100, 200);
  add(Kind::operation, "allreduce", 150, 260);
  add(Kind::host, "MPI_Iallreduce", 150, 155);
  EXPECT_EQ(folded(builder_.finish()),
            "rank 0;MPI_Iallreduce 5\n"
            "rank 0;async operations;allreduce 1 MiB 160\n");
}

TEST_F(Folded, SumIsTheTimeInWhichTheThreadsWereInACall) {
  const Profile profile = random_profile(1, 200);
  std::uint64_t sum_us = 0;
  std::uint64_t stacks = 0;
  std::istringstream lines(folded(profile));
  for (std::string line; std::getline(lines, line); ++stacks) {
    EXPECT_EQ(line.substr(0, 5), "rank ");
    if (line.find(";async operations;") == std::string::npos) sum_us += std::stoull(line.substr(line.rfind(' ')));
  }
  // From the first to the last outermost event of each run of a region, else the outermost events themselves.
  std::uint64_t least_ns = 0;
  std::uint64_t most_ns = 0;
  for (const auto& process : profile.processes) most_ns += process.end_ns - process.begin_ns;
  for (const EventRow& event : profile.events) {
    const bool outermost = (event.kind == Kind::operation && event.context == 0) ||
                           (event.kind == Kind::host && profile.names[event.name] == "MPI_Isend");
    if (outermost) least_ns += event.end_ns - event.begin_ns;
  }
  EXPECT_GE(sum_us + stacks, least_ns / 1000);
  EXPECT_LE(sum_us, most_ns / 1000 + stacks);
}

TEST_F(Folded, OfTablesTakesTheCallsFromTheOperationAndInnerLibrariesFromNeither) {
  Profile profile = builder_.finish();
  const auto row = [&](Kind kind, int source, std::string name, std::uint64_t total_us) {
    profiling::TallyRow tally;
    tally.kind = kind;
    tally.source = source;
    tally.process = 0;
    tally.context = context_;
    tally.thread = 1000;
    tally.name = std::move(name);
    tally.region = "a;b\nc";
    tally.statistics.total = total_us * 1000;
    profile.rows.push_back(std::move(tally));
  };
  const auto ze = static_cast<int>(profile.sources.size());
  profile.sources.push_back({"BACKEND_ZE", 1});
  row(Kind::operation, tutti_, "allreduce", 100);
  row(Kind::host, mpi_, "MPI_Allreduce", 60);
  row(Kind::host, mpi_, "MPI_Barrier", 10);
  row(Kind::host, ze, "zeFenceHostSynchronize", 55);
  EXPECT_EQ(folded(profile),
            "rank 0;a:b c;allreduce 1 MiB 30\n"
            "rank 0;a:b c;allreduce 1 MiB;MPI_Allreduce 60\n"
            "rank 0;a:b c;allreduce 1 MiB;MPI_Barrier 10\n");
}

TEST_F(Folded, OfNothingIsEmpty) { EXPECT_EQ(folded({}), ""); }

}  // namespace
}  // namespace tutti::test
