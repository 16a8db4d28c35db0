#include "sinks/arrivals.hpp"

#include <gtest/gtest.h>

#include "profile_builder.hpp"
#include "sinks/breakdown.hpp"

namespace tutti::profiling {
namespace {

using test::ProfileBuilder;

/// A job whose ranks are processes with one communicator of key 42.
class Job : public ProfileBuilder {
 public:
  explicit Job(int ranks, int hosts = 1) {
    for (int rank = 0; rank < ranks; ++rank) {
      const std::string host = "node" + std::to_string(rank % hosts);
      const int process = this->process(host, 100 + static_cast<std::uint32_t>(rank), rank, ranks);
      communicator(42, process, rank, ranks);
    }
    allreduce = context("allreduce", 1024, "native", "gradients");
    step = name("step");
  }
  EventRow& operation(int rank, std::uint64_t sequence, std::uint64_t begin, std::uint64_t end, int kind = -1) {
    EventRow& event = this->event(Kind::operation, rank, 1, begin, end);
    event.communicator = rank;
    event.sequence = sequence;
    event.context = kind < 0 ? allreduce : kind;
    event.region = step;
    return event;
  }
  int allreduce = 0;
  std::uint32_t step = 0;
};

TEST(Arrivals, WaitingAndTransferOfAStraggler) {
  Job job(3);
  // Two operations: rank 2 arrives 100 and 300 after the first rank; one at which rank 0 is last by 10.
  job.operation(0, 1, 1000, 1150);
  job.operation(1, 1, 1040, 1150);
  job.operation(2, 1, 1100, 1150);
  job.operation(0, 2, 2000, 2400);
  job.operation(1, 2, 2200, 2400);
  job.operation(2, 2, 2300, 2400);
  job.operation(0, 3, 3010, 3020);
  job.operation(1, 3, 3005, 3020);
  job.operation(2, 3, 3000, 3020);
  const auto results = compare_arrivals(job.profile);
  ASSERT_EQ(results.size(), 1U);
  const CommunicatorArrivals& world = results[0];
  EXPECT_EQ(world.compared, 3U);
  EXPECT_EQ(world.incomplete + world.unequal, 0U);
  EXPECT_EQ(world.ranks.at(2).last, 2U);
  EXPECT_EQ(world.ranks.at(2).others_waited_ns, 100U + 60 + 300 + 100);
  EXPECT_EQ(world.ranks.at(2).waited_ns, 10U);
  EXPECT_EQ(world.ranks.at(2).transfer_ns, 50U + 100 + 10);
  EXPECT_EQ(world.ranks.at(0).last, 1U);
  EXPECT_EQ(world.ranks.at(0).others_waited_ns, 5U + 10);
  EXPECT_EQ(world.ranks.at(0).waited_ns, 100U + 300);
  EXPECT_EQ(world.ranks.at(1).last, 0U);
  ASSERT_EQ(world.kinds.size(), 1U);
  const auto& [kind, sum] = *world.kinds.begin();
  EXPECT_EQ(kind.operation, "allreduce");
  EXPECT_EQ(kind.label, "gradients");
  EXPECT_EQ(kind.region, "step");
  EXPECT_EQ(kind.bytes, 1024U);
  EXPECT_EQ(sum.waited_ns, 575U);
  EXPECT_FALSE(world.several_hosts);

  const std::string text = arrivals_text(job.profile);
  const std::string expected =
      "Arrivals on world | 3 ranks | 3 operations compared\n"
      "\n"
      "  rank  last  last %  others waited  per time last  own waiting  transfer\n"
      "  ----  ----  ------  -------------  -------------  -----------  --------\n"
      "     2     2  66.7 %         560 ns         280 ns        10 ns    160 ns\n"
      "     0     1  33.3 %          15 ns          15 ns       400 ns    160 ns\n"
      "     1     0     0 %                                     165 ns    160 ns\n"
      "\n"
      "  op          size  label      region  calls  waiting  transfer  waiting %  mostly last\n"
      "  ---------  -----  ---------  ------  -----  -------  --------  ---------  ---------------\n"
      "  allreduce  1 KiB  gradients  step        3   575 ns    480 ns     54.5 %  rank 2 (66.7 %)\n";
  EXPECT_EQ(text.substr(0, text.find("\n\n", text.find("allreduce") + 1) + 1), expected) << text;
}

TEST(Arrivals, ARankThatLeavesEarlyHasNotWaitedLongerThanItsCall) {
  Job job(2);
  const int broadcast = job.context("broadcast", 8);
  job.operation(0, 1, 1000, 1020, broadcast);
  job.operation(1, 1, 5000, 5030, broadcast);
  const auto results = compare_arrivals(job.profile);
  EXPECT_EQ(results.at(0).ranks.at(0).waited_ns, 20U);
  EXPECT_EQ(results.at(0).ranks.at(0).transfer_ns, 0U);
  EXPECT_EQ(results.at(0).ranks.at(1).others_waited_ns, 20U);
  EXPECT_EQ(results.at(0).clock_error_ns, 0U) << "a broadcast shows nothing about clocks";
}

TEST(Arrivals, MissingRanksAreMarkedAndLeftOut) {
  Job job(3);
  for (const int rank : {0, 1, 2}) job.operation(rank, 1, 1000 + static_cast<std::uint64_t>(rank), 1100);
  for (const int rank : {0, 1}) job.operation(rank, 2, 2000, 2100);
  for (const int rank : {0, 1}) job.operation(rank, 3, 3000, 3100);
  job.operation(0, 4, 4000, 4100);
  job.profile.processes[2].ended = false;
  job.profile.processes[1].dropped = 5;
  const auto results = compare_arrivals(job.profile);
  EXPECT_EQ(results.at(0).compared, 1U);
  EXPECT_EQ(results.at(0).incomplete, 3U);
  EXPECT_EQ(results.at(0).missing, (std::map<int, std::uint64_t>{{1, 1}, {2, 3}}));
  const std::string text = arrivals_text(job.profile, {.width = 400});
  EXPECT_NE(text.find("Arrivals on world | 3 ranks | 1 operation compared | incomplete\n"), std::string::npos) << text;
  EXPECT_NE(text.find("INCOMPLETE: 3 operations not compared, because a rank's record is missing (rank 1 lacks 1: its "
                      "session ran out of memory; rank 2 lacks 3: its process did not end in order).\n"),
            std::string::npos)
      << text;
}

TEST(Arrivals, ARankWithoutAnyRecord) {
  Job job(2);
  job.profile.communicators.pop_back();
  job.operation(0, 1, 1000, 1100);
  const std::string text = arrivals_text(job.profile, {.width = 400});
  EXPECT_NE(text.find("(rank 1 lacks 1: it recorded nothing)"), std::string::npos) << text;
}

TEST(Arrivals, ContradictingRecordsMessagesAndCommunicatorsOfOneRank) {
  Job job(2);
  const int send = job.context("send", 8);
  const int barrier = job.context("barrier", 0);
  job.operation(0, 1, 1000, 1100);
  job.operation(1, 1, 1000, 1100, barrier);  // another operation
  job.operation(0, 2, 1200, 1300);
  job.operation(0, 2, 1400, 1500);  // the same rank twice
  job.operation(0, 0, 1600, 1700, send);
  job.operation(1, 0, 1600, 1700, send);
  job.operation(1, 0, 1800, 1900, send);
  const auto results = compare_arrivals(job.profile);
  EXPECT_EQ(results.at(0).unequal, 2U);
  EXPECT_EQ(results.at(0).compared + results.at(0).incomplete, 0U);

  Job alone(1);
  alone.operation(0, 1, 1000, 1100);
  EXPECT_TRUE(compare_arrivals(alone.profile).empty());
}

TEST(Arrivals, ProcessesOfOneHostShareAClock) {
  Job job(2);
  // Measured offsets to CLOCK_REALTIME differ by jitter; on one host they must not matter.
  job.profile.processes[0].realtime_offset = 1'000'000;
  job.profile.processes[1].realtime_offset = 1'000'500;
  job.operation(0, 1, 1000, 1300);
  job.operation(1, 1, 1200, 1300);
  EXPECT_EQ(compare_arrivals(job.profile).at(0).ranks.at(0).waited_ns, 200U);
}

TEST(Arrivals, SeveralHostsAreComparedByTheirRealtimeClocks) {
  Job job(2, 2);
  job.profile.processes[0].realtime_offset = 1'000'000;
  job.profile.processes[1].realtime_offset = 500'000;
  job.operation(0, 1, 1000, 1300);
  job.operation(1, 1, 501'100, 501'300);  // 100 later
  auto results = compare_arrivals(job.profile);
  EXPECT_TRUE(results.at(0).several_hosts);
  EXPECT_EQ(results.at(0).ranks.at(0).waited_ns, 100U);
  EXPECT_EQ(results.at(0).clock_error_ns, 0U);
  EXPECT_NE(arrivals_text(job.profile, {.width = 400}).find("as good as these agree."), std::string::npos);

  // Rank 0 leaves an allreduce 700 before rank 1 arrives: the clocks are off by that at least.
  job.operation(0, 2, 2000, 2300);
  job.operation(1, 2, 503'000, 503'100);
  EXPECT_EQ(compare_arrivals(job.profile).at(0).clock_error_ns, 700U);
  EXPECT_NE(arrivals_text(job.profile, {.width = 400}).find("disagree by at least 700 ns"), std::string::npos);
}

TEST(Arrivals, RanksThatAreThreadsOfAProcess) {
  ProfileBuilder build;
  const int process = build.process("n", 1, 0, 2);
  const int allreduce = build.context("allreduce", 8);
  for (int rank = 0; rank < 2; ++rank) {
    EventRow& event = build.event(Kind::operation, process, 10 + static_cast<std::uint32_t>(rank),
                                  1000 + 50 * static_cast<std::uint64_t>(rank), 1100);
    event.communicator = build.communicator(7, process, rank, 2);
    event.context = allreduce;
    event.sequence = 1;
  }
  const auto results = compare_arrivals(build.profile);
  EXPECT_EQ(results.at(0).compared, 1U);
  EXPECT_EQ(results.at(0).ranks.at(1).others_waited_ns, 50U);
}

TEST(Arrivals, DamagedProfiles) {
  EXPECT_EQ(arrivals_text(Profile{}), "");
  Job job(2);
  job.profile.processes[0].realtime_offset = INT64_MIN;
  job.operation(0, 1, UINT64_MAX, 5);
  job.operation(1, 1, 0, UINT64_MAX).region = 4'000'000;
  job.operation(0, 2, 0, 0).communicator = 99;
  job.operation(0, 3, 0, 0).process = 99;
  job.operation(0, 4, 0, 0).context = 99;
  job.profile.communicators[0].size = 2'000'000'000;
  EXPECT_FALSE(arrivals_text(job.profile).empty());
}

TEST(Overlap, OfAsynchronousOperationsWithTheTimeInNoCall) {
  Job job(1);
  const int other = job.context("broadcast", 8);
  // Thread: allreduce under way from 1000 to 2000; calls of it until 1100, another library's call 1300-1400, wait
  // 1800-2000.
  job.operation(0, 1, 1000, 2000);
  job.event(Kind::host, 0, 1, 1000, 1100).context = job.allreduce;
  job.event(Kind::host, 0, 1, 1300, 1400);
  job.event(Kind::host, 0, 1, 1800, 2000);
  // Its device work ends later.
  job.event(Kind::device, 0, 1, 1500, 2100).context = job.allreduce;
  // A synchronous operation with a call within.
  job.operation(0, 2, 3000, 4000, other);
  job.event(Kind::host, 0, 1, 3100, 3900).context = other;
  // Another process's events do not matter.
  const auto ranks = measure_overlap(job.profile);
  ASSERT_EQ(ranks.size(), 1U);
  EXPECT_EQ(ranks[0].operations, 2U);
  EXPECT_EQ(ranks[0].asynchronous, 1U);
  EXPECT_EQ(ranks[0].asynchronous_ns, 1100U);
  EXPECT_EQ(ranks[0].free_ns, 200U + 400 + 100);
  const std::string text = arrivals_text(job.profile);
  EXPECT_NE(text.find("     0           2             1     1.10 us       700 ns   63.6 %\n"), std::string::npos)
      << text;
}

TEST(Overlap, IsUnknownWithoutSingleCalls) {
  Job job(1);
  job.operation(0, 1, 1000, 2000);
  job.operation(0, 2, 1500, 2500);
  const auto ranks = measure_overlap(job.profile);
  EXPECT_EQ(ranks.at(0).asynchronous, 1U);
  EXPECT_FALSE(ranks.at(0).sees_calls);
  EXPECT_NE(arrivals_text(job.profile).find("unknown\n"), std::string::npos);
}

}  // namespace
}  // namespace tutti::profiling
