#include "diagnose/diagnosis.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "usage_error.hpp"

namespace tutti::tools {
namespace {

constexpr std::int64_t kNow = 1'000'000'000'000;
constexpr std::int64_t kTwelveSecondsAgo = kNow - 12'000'000'000;

/// A rank of communicator `number` in a job of three, whose process has the number 100 + rank.
RankRow row(int rank, std::uint64_t entered, std::uint64_t left, std::uint64_t number = 1) {
  RankRow result;
  result.pid = 100 + rank;
  result.process.state = 'S';
  CommunicatorProgress& its = result.progress;
  its.stage = CommunicatorStage::active;
  its.job = "cafe";
  its.communicator = number;
  its.name = number == 1 ? "world" : "rows";
  its.rank = rank;
  its.job_rank = rank;
  its.size = 3;
  its.ranks_here = 3;
  its.sequence = entered;
  its.left = left;
  its.kind = OpKind::allreduce;
  its.type = DataType::float32;
  its.count = 1024;
  return result;
}

JobView job(std::vector<RankRow> rows) {
  return {.id = "cafe", .command = "app", .rows = std::move(rows), .zombies = {}};
}

std::string first_text(const JobView& view) {
  const std::vector<Finding> findings = diagnose(view, kNow);
  return findings.empty() ? "nothing" : findings.front().text;
}

TEST(Diagnosis, RanksThatMoveOrAreIdleAreWell) {
  EXPECT_EQ(first_text(job({row(0, 4, 4), row(1, 4, 4), row(2, 3, 3)})), "nothing");
  JobView moving = job({row(0, 41, 40), row(1, 41, 40), row(2, 40, 40)});
  moving.rows[2].has_moved = true;
  EXPECT_EQ(first_text(moving), "nothing");
  // A long operation that all are in.
  EXPECT_EQ(first_text(job({row(0, 41, 40), row(1, 41, 40), row(2, 41, 40)})), "nothing");
}

TEST(Diagnosis, RankBehindIsNamedWithItsLastCall) {
  JobView view = job({row(0, 41, 40), row(1, 41, 40), row(2, 38, 38)});
  view.rows[0].progress.since_ns = kTwelveSecondsAgo;
  const auto findings = diagnose(view, kNow);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, FindingKind::behind);
  EXPECT_EQ(findings[0].rank, 2);
  EXPECT_EQ(findings[0].operations_behind, 3U);
  EXPECT_EQ(
      findings[0].text,
      "rank 2 (pid 102) is 3 operations behind: it left allreduce(sum) #38 of 1024 float32 (4 KiB) and is not in a "
      "call; ranks 0 and 1 wait for it in allreduce(sum) #41 of 1024 float32 (4 KiB) for 12.0 s");
}

TEST(Diagnosis, StoppedProcessIsTheReason) {
  JobView view = job({row(0, 41, 40), row(1, 41, 40), row(2, 40, 40)});
  view.rows[2].process.state = 'T';
  const auto findings = diagnose(view, kNow);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, FindingKind::stopped);
  EXPECT_TRUE(findings[0].text.starts_with("rank 2 (pid 102) is stopped by a signal; continue it with kill -CONT 102"))
      << findings[0].text;

  JobView calm = job({row(0, 40, 40), row(1, 40, 40), row(2, 40, 40)});
  calm.rows[1].process.state = 'T';
  EXPECT_EQ(diagnose(calm, kNow).front().rank, 1);
  calm.rows[1].process.state = 'D';
  EXPECT_EQ(first_text(calm), "nothing") << "a moment in the kernel is no problem while nobody waits";
  view.rows[2].process.state = 'D';
  EXPECT_EQ(diagnose(view, kNow).front().kind, FindingKind::uninterruptible);
}

TEST(Diagnosis, MismatchIsNamedWithBothCalls) {
  JobView view = job({row(0, 41, 40), row(1, 41, 40), row(2, 41, 40)});
  view.rows[1].progress.kind = OpKind::barrier;
  const auto findings = diagnose(view, kNow);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, FindingKind::mismatch);
  EXPECT_EQ(findings[0].text,
            "the ranks of communicator world are in different operations: rank 0 (pid 100) in allreduce(sum) #41 of "
            "1024 float32 (4 KiB), rank 1 (pid 101) in barrier #41");
  view.rows[1] = row(1, 41, 40);
  view.rows[1].progress.count = 7;
  EXPECT_EQ(diagnose(view, kNow).front().kind, FindingKind::mismatch);
  for (RankRow& each : view.rows) each.progress.kind = OpKind::allgatherv;
  EXPECT_EQ(first_text(view), "nothing") << "each rank has its own count";
}

TEST(Diagnosis, DeadAndDestroyedRanksAreNamed) {
  JobView view = job({row(0, 41, 40), row(2, 41, 40)});
  view.zombies = {77};
  EXPECT_EQ(diagnose(view, kNow).front().kind, FindingKind::gone);
  EXPECT_TRUE(first_text(view).starts_with(
      "rank 1 of communicator world has no process any more (pid 77 has ended and is a zombie); ranks 0 and 2 wait"))
      << first_text(view);
  // Ranks of other hosts are not missed.
  for (RankRow& each : view.rows) each.progress.ranks_here = 2;
  EXPECT_EQ(first_text(view), "nothing");

  JobView left = job({row(0, 41, 40), row(1, 40, 40), row(2, 41, 40)});
  left.rows[1].progress.stage = CommunicatorStage::destroyed;
  EXPECT_TRUE(first_text(left).starts_with("rank 1 (pid 101) has destroyed communicator world")) << first_text(left);
}

TEST(Diagnosis, FailureComesWithItsText) {
  JobView view = job({row(0, 41, 41), row(1, 41, 41), row(2, 41, 41)});
  view.rows[1].progress.stage = CommunicatorStage::failed;
  view.rows[1].progress.failure = "rank 0 died";
  EXPECT_EQ(first_text(view), "rank 1 (pid 101) has failed in communicator world: rank 0 died");
}

TEST(Diagnosis, RankThatLacksTensorsIsNamed) {
  JobView view = job({row(0, 0, 0), row(1, 0, 0), row(2, 0, 0)});
  for (const std::size_t waiting : {0U, 2U}) {
    view.rows[waiting].progress.stall = "rank 1 has not submitted 'gradient'";
    view.rows[waiting].progress.stalled_by = 1;
  }
  const auto findings = diagnose(view, kNow);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].kind, FindingKind::stalled);
  EXPECT_EQ(name(findings[0].kind), "stalled");
  EXPECT_EQ(findings[0].rank, 1);
  EXPECT_EQ(findings[0].pid, 101);
  EXPECT_EQ(findings[0].text,
            "tensors of communicator world wait on ranks 0 and 2: rank 1 has not submitted 'gradient'");
  view.rows[1].process.state = 'T';
  EXPECT_EQ(diagnose(view, kNow).front().kind, FindingKind::stopped);
  EXPECT_TRUE(first_text(view).starts_with("rank 1 (pid 101) is stopped by a signal")) << first_text(view);
  // The rank may be on another host.
  view.rows.erase(view.rows.begin() + 1);
  for (RankRow& each : view.rows) each.progress.ranks_here = 2;
  EXPECT_EQ(diagnose(view, kNow).front().kind, FindingKind::stalled);
  EXPECT_EQ(diagnose(view, kNow).front().pid, 0);
}

TEST(Diagnosis, CauseComesBeforeItsConsequences) {
  // Rank 0 waits for the others; rank 1 waits for rank 2 in another communicator, rank 2 for nobody.
  JobView view = job({row(0, 41, 40), row(1, 40, 40), row(2, 40, 40), row(1, 7, 6, 2), row(2, 6, 6, 2)});
  for (RankRow& each : view.rows) {
    if (each.progress.communicator == 2) each.progress.ranks_here = 2;
  }
  const auto findings = diagnose(view, kNow);
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].rank, 2);
  EXPECT_EQ(findings[1].rank, 2);
  EXPECT_EQ(findings[2].rank, 1);
  EXPECT_NE(findings[2].text.find("it waits itself in allreduce(sum) #7"), std::string::npos) << findings[2].text;
}

TEST(Diagnosis, RanksThatWaitForEachOtherAreNamed) {
  // Rank 0 waits in world, rank 1 in the rows: each for the other.
  JobView view = job({row(0, 41, 40), row(1, 40, 40), row(0, 6, 6, 2), row(1, 7, 6, 2)});
  for (RankRow& each : view.rows) each.progress.ranks_here = each.progress.size = 2;
  const auto findings = diagnose(view, kNow);
  ASSERT_EQ(findings.size(), 3U);
  EXPECT_EQ(findings[0].kind, FindingKind::cycle);
  EXPECT_EQ(findings[0].text, "ranks 0 and 1 wait for each other, so that none of them can go on");
}

TEST(Diagnosis, MessageNamesTheRankThatDoesNotAnswer) {
  JobView view = job({row(0, 4, 4), row(1, 4, 4), row(2, 4, 4)});
  CommunicatorProgress& receiver = view.rows[0].progress;
  receiver.kind = OpKind::recv;
  receiver.root = 2;
  receiver.ticks = 3;
  const auto findings = diagnose(view, kNow);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].rank, 2);
  EXPECT_EQ(
      findings[0].text,
      "rank 2 (pid 102) is not in a call; rank 0 (pid 100) waits for it in recv of 1024 float32 (4 KiB) from rank "
      "2");
}

TEST(Diagnosis, RanksThatDoNotComeAreMissed) {
  JobView view = job({row(0, 0, 0), row(2, 0, 0)});
  for (RankRow& each : view.rows) {
    each.progress.stage = CommunicatorStage::creating;
    each.progress.since_ns = kTwelveSecondsAgo;
  }
  EXPECT_EQ(first_text(view),
            "communicator world of 3 ranks is being created for 12.0 s, but only ranks 0 and 2 of this host came");
}

TEST(HostView, JobIsNamedByIdOrProcess) {
  const JobView one = job({row(0, 1, 1)});
  JobView other = one;
  other.id = "cabbage";
  other.rows[0].pid = 200;
  HostView all{.jobs = {one, other}, .notes = {}};
  for (const char* word : {"cafe", "caf", "100"}) {
    HostView view = all;
    keep_job(view, word);
    EXPECT_EQ(view.jobs.front().id, "cafe") << word;
  }
  HostView view = all;
  EXPECT_THROW(keep_job(view, "ca"), UsageError);
  view = all;
  EXPECT_THROW(keep_job(view, "999"), UsageError);
}

TEST(HostView, KernelKnowsThisProcess) {
  const ProcessState state = process_state(getpid());
  EXPECT_EQ(state.state, 'R');
  EXPECT_EQ(state.parent, getppid());
  EXPECT_GT(state.resident_bytes, 0U);
  EXPECT_NE(state.command.find("diagnosis_test"), std::string::npos);
  EXPECT_EQ(process_state(-1).state, '?');
}

TEST(Ranks, AreListedInWords) {
  EXPECT_EQ(rank_list({2}), "rank 2");
  EXPECT_EQ(rank_list({0, 1}), "ranks 0 and 1");
  EXPECT_EQ(rank_list({0, 1, 4}), "ranks 0, 1 and 4");
  EXPECT_EQ(rank_list({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
}

}  // namespace
}  // namespace tutti::tools
