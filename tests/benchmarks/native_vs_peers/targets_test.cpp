// Judging of made-up runs.
#include "targets.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core_state.hpp"

namespace tutti::bench {
namespace {

constexpr double kNearNs = 40;
constexpr double kFarNs = 200;

/// Times of tutti, tutti with allocated memory, a peer and the limit in a cell; each round has the same.
struct Times {
  double own = 1;
  double allocated = 0.5;
  double peer = 3;
  double limit = 0.5;
  double spread = 0;  ///< of all, relative
};

class MadeUpRun {
 public:
  MadeUpRun() {
    results_.contestants = {{.key = "native", .title = "tutti", .kind = Contestant::Kind::tutti},
                            {.key = "native-allocate", .title = "allocate", .kind = Contestant::Kind::tutti},
                            {.key = "mpi-openmpi", .title = "Open MPI"},
                            {.key = "limit-plain", .title = "limit", .kind = Contestant::Kind::limit}};
  }

  MadeUpRun& add(Op op, std::uint64_t bytes, const Times& times, double distance_ns = kNearNs, int ranks = 2) {
    Cell cell{.workload = {.op = op, .bytes = bytes, .ranks = ranks}, .samples = {}};
    for (const double us : {times.own, times.allocated, times.peer, times.limit}) {
      // Quartiles at a spread above and below the median.
      const double step = us * times.spread;
      cell.samples.push_back({.rounds_us = {us - 2 * step, us - step, us, us + step, us + 2 * step}, .calls = 1});
    }
    cell.core_distances_ns.assign(5, distance_ns);
    results_.cells.push_back(std::move(cell));
    return *this;
  }

  /// The only verdict that begins so.
  [[nodiscard]] Verdict verdict(const std::string& what, const std::string& target = {}) const {
    const std::vector<Verdict> all = judge(results_);
    const auto fits = [&](const Verdict& verdict) {
      return verdict.what.starts_with(what) && verdict.target.starts_with(target);
    };
    EXPECT_EQ(std::ranges::count_if(all, fits), 1) << what << ": " << target;
    return *std::ranges::find_if(all, fits);
  }

 private:
  Results results_;
};

constexpr std::uint64_t kKi = 1024;
constexpr std::uint64_t kMi = 1024 * kKi;

TEST(Targets, NothingMeasuredMeansNothingJudged) {
  for (const Verdict& verdict : judge(Results())) {
    EXPECT_EQ(verdict.state, Verdict::State::not_measured) << verdict.what;
    EXPECT_EQ(verdict.cells, 0) << verdict.what;
  }
}

TEST(Targets, AnySizeMustBeNoSlowerOrWithinTheSpread) {
  const std::string what = "broadcast, 8 B to 512 MiB";
  MadeUpRun run;
  run.add(Op::broadcast, 8, {.own = 1, .peer = 1}).add(Op::broadcast, kKi, {.own = 1, .peer = 0.95, .spread = 0.05});
  const Verdict met = run.verdict(what);
  EXPECT_EQ(met.state, Verdict::State::met);
  EXPECT_NEAR(met.worst, 0.95, 0.001);
  EXPECT_EQ(met.at, "at 1 KiB (within the spread)");
  EXPECT_EQ(met.cells, 2);

  // The cell that misses is shown, not the one with a lower ratio that the spread excuses.
  run.add(Op::broadcast, 4 * kKi, {.own = 1, .peer = 0.9, .spread = 0.2})
      .add(Op::broadcast, kMi, {.own = 1, .peer = 0.96});
  const Verdict missed = run.verdict(what);
  EXPECT_EQ(missed.state, Verdict::State::missed);
  EXPECT_NEAR(missed.worst, 0.96, 0.001);
  EXPECT_EQ(missed.at, "at 1 MiB");
}

TEST(Targets, MiddleSizesMustBeAFifthFasterWhateverTheSpread) {
  MadeUpRun run;
  run.add(Op::allgather, 8 * kKi, {.own = 1, .peer = 1}).add(Op::allgather, 512 * kKi, {.own = 1, .peer = 1});
  EXPECT_EQ(run.verdict("allgather, 16 KiB to 256 KiB").state, Verdict::State::not_measured);
  run.add(Op::allgather, 16 * kKi, {.own = 1, .peer = 1.3}).add(Op::allgather, 256 * kKi, {.own = 1, .peer = 1.2});
  EXPECT_EQ(run.verdict("allgather, 16 KiB to 256 KiB").state, Verdict::State::met);
  run.add(Op::allgather, 64 * kKi, {.own = 1, .peer = 1.15, .spread = 0.1});
  const Verdict missed = run.verdict("allgather, 16 KiB to 256 KiB");
  EXPECT_EQ(missed.state, Verdict::State::missed);
  EXPECT_EQ(missed.at, "at 64 KiB (within the spread)");
}

TEST(Targets, LargeAllreducesAreJudgedByTheDistanceOfTheCores) {
  MadeUpRun run;
  run.add(Op::allreduce, kMi, {.own = 1, .peer = 1.5}, kNearNs)
      .add(Op::allreduce, 4 * kMi, {.own = 1, .peer = 1.9}, kFarNs);
  const Verdict near = run.verdict("allreduce, 1 MiB to 512 MiB, near cores");
  EXPECT_EQ(near.state, Verdict::State::met);
  EXPECT_EQ(near.cells, 1);
  const Verdict far = run.verdict("allreduce, 1 MiB to 512 MiB, far cores");
  EXPECT_EQ(far.state, Verdict::State::missed);
  EXPECT_EQ(far.at, "at 4 MiB");
  EXPECT_EQ(far.cells, 1);
}

TEST(Targets, AllocatedMemoryIsJudgedFromItsOwnTimes) {
  MadeUpRun run;
  run.add(Op::reduce_scatter, 16 * kMi, {.own = 9, .allocated = 1, .peer = 2, .limit = 0.89});
  EXPECT_EQ(run.verdict("reduce_scatter, allocated buffers, from 16 KiB").state, Verdict::State::met);
  const Verdict limit = run.verdict("reduce_scatter, allocated buffers, from 16 MiB");
  EXPECT_EQ(limit.state, Verdict::State::missed);
  EXPECT_NEAR(limit.worst, 0.89, 0.001);
}

TEST(Targets, MoreRanksThanCoresAndMovesMustBeNoSlower) {
  MadeUpRun run;
  run.add(Op::barrier, 0, {.own = 1, .peer = 0.9}, kNearNs, 4).add(Op::gather, 8, {.own = 1, .peer = 1}, kNearNs, 8);
  EXPECT_EQ(run.verdict("barrier, 4 ranks").state, Verdict::State::missed);
  EXPECT_EQ(run.verdict("gather, every size, 8 ranks").state, Verdict::State::met);

  run.add(Op::message, 32 * kKi, {.own = 1, .peer = 0.5});
  EXPECT_EQ(run.verdict("message, from 64 KiB, 2 ranks").state, Verdict::State::not_measured);
  run.add(Op::message, 64 * kKi, {.own = 1, .peer = 0.9});
  EXPECT_EQ(run.verdict("message, from 64 KiB, 2 ranks").state, Verdict::State::missed);
}

TEST(Targets, NoSizeMayCostMoreThanTheNextDoubling) {
  const std::string what = "growth of allreduce";
  MadeUpRun run;
  run.add(Op::allreduce, 256 * kKi, {.own = 6})
      .add(Op::allreduce, 64 * kKi, {.own = 5})
      .add(Op::allreduce, 16 * kKi, {.own = 2});
  EXPECT_EQ(run.verdict(what).state, Verdict::State::met);
  EXPECT_EQ(run.verdict(what).cells, 2);

  // 96 KiB is no doubling of 64 KiB; that of 64 KiB is cheaper.
  run.add(Op::allreduce, 96 * kKi, {.own = 4.9}).add(Op::allreduce, 128 * kKi, {.own = 4});
  const Verdict missed = run.verdict(what);
  EXPECT_EQ(missed.state, Verdict::State::missed);
  EXPECT_EQ(missed.at, "from 64 KiB to 128 KiB");
  EXPECT_NEAR(missed.worst, 0.8, 0.001);
}

TEST(Targets, GrowthAllowsTheSpreadAndComparesNoNearWithFarCores) {
  MadeUpRun noisy;
  noisy.add(Op::scatter, 8, {.own = 0.24, .spread = 0.05}).add(Op::scatter, 16, {.own = 0.23, .spread = 0.05});
  EXPECT_EQ(noisy.verdict("growth of scatter").state, Verdict::State::met);

  MadeUpRun moved;
  moved.add(Op::scatter, 8, {.own = 9}, kFarNs).add(Op::scatter, 16, {.own = 2}, kNearNs);
  EXPECT_EQ(moved.verdict("growth of scatter").state, Verdict::State::not_measured);
}

TEST(CoreStates, AreMixedUnlessThreeQuartersOfTheRoundsAgree) {
  EXPECT_EQ(core_state({}), CoreState::unknown);
  EXPECT_EQ(usual_core_state({}), CoreState::unknown);
  EXPECT_EQ(core_state({kNearNs, kNearNs, kNearNs, kFarNs}), CoreState::near);
  EXPECT_EQ(core_state({kFarNs, kNearNs, kFarNs, kFarNs}), CoreState::far);
  const std::vector<double> half = {kNearNs, kFarNs, kNearNs, kFarNs, kFarNs};
  EXPECT_EQ(core_state(half), CoreState::mixed);
  EXPECT_EQ(usual_core_state(half), CoreState::far);
  EXPECT_DOUBLE_EQ(near_share(half), 0.4);
}

}  // namespace
}  // namespace tutti::bench
