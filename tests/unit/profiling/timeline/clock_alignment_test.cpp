#include "report/clock_alignment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "synthetic_profile.hpp"

namespace tutti::test {
namespace {

using profiling::align_clocks;
using profiling::ClockAlignment;
using profiling::EventRow;
using profiling::Kind;
using profiling::Profile;

constexpr std::int64_t kMillisecond = 1'000'000;

/// Job with a process per rank, two ranks on each host. Each host's clock is off by its skew; the session believes that
/// all are right.
Profile job(const std::vector<std::int64_t>& skews, unsigned seed = 1, const char* operation = "allreduce") {
  std::mt19937_64 random(seed);
  ProfileBuilder builder;
  const int source = builder.source("BACKEND_TUTTI", 9);
  const int context = builder.context({.operation = operation, .type = {}, .backend = {}, .label = {}, .bytes = 1024});
  std::vector<int> communicators;
  const auto ranks = static_cast<int>(2 * skews.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const int process = builder.process("node-" + std::to_string(rank / 2), rank);
    communicators.push_back(builder.communicator(process, 5, rank, ranks));
  }
  std::uint64_t now = 1'000'000'000;
  for (std::uint64_t sequence = 1; sequence <= 200; ++sequence) {
    std::vector<std::uint64_t> begins;
    for (int rank = 0; rank < ranks; ++rank) begins.push_back(now + random() % 100'000);
    const std::uint64_t last = *std::max_element(begins.begin(), begins.end());
    for (int rank = 0; rank < ranks; ++rank) {
      const std::uint64_t skew = static_cast<std::uint64_t>(skews[static_cast<std::size_t>(rank / 2)]);
      builder.event(operation, {.kind = Kind::operation,
                                .source = source,
                                .process = rank,
                                .context = context,
                                .communicator = communicators[static_cast<std::size_t>(rank)],
                                .thread = 1,
                                .begin_ns = begins[static_cast<std::size_t>(rank)] + skew,
                                .end_ns = last + 1000 + random() % 20'000 + skew,
                                .sequence = sequence});
    }
    now += 1'000'000;
  }
  return builder.finish();
}

/// Number of pairs of ranks of which one left before the other arrived.
int early_leaves(const Profile& profile) {
  int count = 0;
  const auto offset = [&](const EventRow& event) {
    return static_cast<std::uint64_t>(profile.processes[static_cast<std::size_t>(event.process)].realtime_offset);
  };
  for (const EventRow& one : profile.events) {
    for (const EventRow& other : profile.events)
      count += one.sequence == other.sequence && one.end_ns + offset(one) < other.begin_ns + offset(other);
  }
  return count;
}

TEST(ClockAlignment, ClocksThatAgreeStayAsTheyAre) {
  Profile profile = job({0, 300, -200});
  const ClockAlignment alignment = align_clocks(profile);
  EXPECT_EQ(alignment.operations, 200U);
  EXPECT_TRUE(alignment.shifts.empty());
  EXPECT_FALSE(alignment.contradictory);
  EXPECT_TRUE(profile.warnings.empty());
  for (const auto& process : profile.processes) EXPECT_EQ(process.realtime_offset, 0);
}

TEST(ClockAlignment, SkewedClocksAreShiftedToWithinTheirPrecision) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    const std::vector<std::int64_t> skews = {0, 7 * kMillisecond, -3 * kMillisecond, 500 * kMillisecond};
    Profile profile = job(skews, seed);
    ASSERT_GT(early_leaves(profile), 0);
    const ClockAlignment alignment = align_clocks(profile);
    ASSERT_EQ(alignment.shifts.size(), 3U) << seed;
    for (const auto& shift : alignment.shifts) {
      const auto host = static_cast<std::size_t>(shift.host.back() - '0');
      EXPECT_LE(std::abs(shift.shift_ns + skews[host]), shift.precision_ns) << seed << ' ' << shift.host;
      EXPECT_LT(shift.precision_ns, 100'000);
      EXPECT_EQ(shift.processes.size(), 2U);
    }
    EXPECT_EQ(early_leaves(profile), 0) << seed;
    EXPECT_EQ(profile.warnings.size(), 3U);
  }
}

TEST(ClockAlignment, AClockThatAgreesStaysWhereAnotherIsShifted) {
  Profile profile = job({0, 200, 40 * kMillisecond});
  const ClockAlignment alignment = align_clocks(profile);
  ASSERT_EQ(alignment.shifts.size(), 1U);
  EXPECT_EQ(alignment.shifts[0].host, "node-2");
  EXPECT_EQ(profile.processes[2].realtime_offset, 0);
  EXPECT_EQ(early_leaves(profile), 0);
}

TEST(ClockAlignment, RootedOperationsSayNothing) {
  Profile profile = job({0, 9 * kMillisecond}, 1, "broadcast");
  const ClockAlignment alignment = align_clocks(profile);
  EXPECT_EQ(alignment.operations, 0U);
  EXPECT_TRUE(alignment.shifts.empty());
}

TEST(ClockAlignment, OperationsThatOnlyBeganSayNothing) {
  // Their ends are those of the calls that enqueued them, before the last rank of their own host arrived.
  Profile profile = job({0, 9 * kMillisecond});
  for (EventRow& event : profile.events) event.end_ns = event.begin_ns + 1;
  const ClockAlignment alignment = align_clocks(profile);
  EXPECT_EQ(alignment.operations, 0U);
  EXPECT_TRUE(alignment.shifts.empty());
}

TEST(ClockAlignment, ADriftingClockIsReportedAndNotShifted) {
  Profile profile = job({0, 0});
  for (EventRow& event : profile.events) {
    if (event.process < 2) continue;
    event.begin_ns += event.sequence * 100'000;
    event.end_ns += event.sequence * 100'000;
  }
  const ClockAlignment alignment = align_clocks(profile);
  EXPECT_TRUE(alignment.contradictory);
  EXPECT_TRUE(alignment.shifts.empty());
  ASSERT_EQ(profile.warnings.size(), 1U);
  EXPECT_NE(profile.warnings[0].find("contradict"), std::string::npos);
}

TEST(ClockAlignment, ProcessesOfAHostShareAnOffsetUnlessItIsAnotherMachine) {
  Profile profile = job({0, 0});
  profile.processes[0].realtime_offset = 1000;
  profile.processes[1].realtime_offset = 30'000;
  profile.processes[2].realtime_offset = 0;
  profile.processes[3].realtime_offset = 5'000'000'000;
  const Profile before = profile;
  (void)align_clocks(profile);
  EXPECT_EQ(profile.processes[0].realtime_offset, profile.processes[1].realtime_offset);
  EXPECT_NE(profile.processes[3].realtime_offset, profile.processes[2].realtime_offset);
  // The clock of process 3 was off by its offset, which the collectives show.
  EXPECT_LT(std::abs(profile.processes[3].realtime_offset), kMillisecond);
}

TEST(ClockAlignment, OfDamagedRowsChangesNothing) {
  Profile profile = job({0, 9 * kMillisecond});
  for (EventRow& event : profile.events) {
    event.communicator = 77;
    event.name = 9999;
  }
  EXPECT_EQ(align_clocks(profile).operations, 0U);
  Profile empty;
  EXPECT_TRUE(align_clocks(empty).shifts.empty());
}

}  // namespace
}  // namespace tutti::test
