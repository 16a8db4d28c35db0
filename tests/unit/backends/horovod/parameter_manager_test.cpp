#include "autotune/parameter_manager.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <sstream>

namespace tutti::horovod {
namespace {

using std::chrono::microseconds;

/// A job that reduces three tensors per step, at a speed in MB/s that depends on the values.
class Job {
 public:
  using Speed = std::function<double(const TunedValues&)>;

  Job(TuningPlan plan, Speed speed, LogFormat format = LogFormat::upstream)
      : names_(plan.inner_backends),
        log_(out_, format, names_),
        manager_(std::move(plan), &log_, {}),
        speed_(std::move(speed)) {}

  /// Runs steps; returns how often the ranks had to be told of new values.
  int run(int steps, std::uint64_t bytes = 3'000'000) {
    static const std::vector<std::string> kNames = {"a", "b", "c"};
    int changes = 0;
    for (int i = 0; i < steps; ++i) {
      const bool was_active = manager_.is_active();
      const TunedValues before = manager_.values();
      const double time = static_cast<double>(bytes) / speed_(before);
      now_ += std::chrono::nanoseconds(std::llround(time * 1000));
      const bool changed = manager_.update(kNames, bytes, now_);
      const bool differs = before != manager_.values() || was_active != manager_.is_active();
      EXPECT_TRUE(changed || !differs);
      changes += changed ? 1 : 0;
    }
    return changes;
  }

  int run_until_done(int most = 20000) {
    int steps = 0;
    while (manager_.is_active() && steps < most) {
      run(1);
      ++steps;
    }
    return steps;
  }

  ParameterManager& manager() { return manager_; }
  [[nodiscard]] ParameterManager::Time now() const { return now_; }
  [[nodiscard]] std::string log() const { return out_.str(); }
  [[nodiscard]] std::vector<std::string> rows() const {
    std::vector<std::string> lines;
    std::istringstream text(out_.str());
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    lines.erase(lines.begin());
    return lines;
  }

 private:
  std::vector<std::string> names_;
  std::ostringstream out_;
  TuningLog log_;
  ParameterManager manager_;
  Speed speed_;
  ParameterManager::Time now_{};
};

double hill(const TunedValues& values) {
  const double x = (values.fusion_threshold_mb - 40) / 64;
  const double y = (values.cycle_time_ms - 12) / 99;
  return 100 + 900 * std::exp(-4 * (x * x + y * y));
}

TuningPlan plan_of_upstream() {
  TuningPlan plan;
  plan.tries_start = false;
  return plan;
}

TEST(ParameterManager, SamplesAndScoresAreUpstreams) {
  int step = 0;
  // Samples of the speeds 100, 300, 200, 500, 400: the median counts.
  const std::vector<double> speeds = {100, 300, 200, 500, 400};
  TuningPlan plan = plan_of_upstream();
  plan.warmup_scores = 0;
  Job job(plan, [&](const TunedValues&) { return speeds[static_cast<std::size_t>(step++ / 10) % 5]; });
  job.run(49);
  EXPECT_TRUE(job.rows().empty());
  EXPECT_EQ(job.manager().values().fusion_threshold_mb, 4);
  EXPECT_EQ(job.manager().values().cycle_time_ms, 5);
  EXPECT_EQ(job.run(1), 1);
  ASSERT_EQ(job.rows().size(), 1u);
  const double score = std::stod(job.rows()[0].substr(job.rows()[0].rfind(',') + 1));
  EXPECT_EQ(score, 300);
  EXPECT_EQ(job.manager().values().fusion_threshold_mb, 32);
  EXPECT_EQ(job.manager().values().cycle_time_ms, 50);
}

TEST(ParameterManager, WarmupScoresAreThrownAway) {
  Job job(plan_of_upstream(), hill);
  EXPECT_EQ(job.run(3 * 50 + 49), 0);
  EXPECT_TRUE(job.rows().empty());
  EXPECT_EQ(job.run(1), 1);
  EXPECT_EQ(job.rows().size(), 1u);
}

TEST(ParameterManager, TestPointsComeFirstAndTwentyOnePointsAreTried) {
  Job job(plan_of_upstream(), hill);
  job.run_until_done();
  ASSERT_FALSE(job.manager().is_active());
  const auto rows = job.rows();
  ASSERT_EQ(rows.size(), 22u);
  EXPECT_TRUE(rows[0].starts_with("0,0,0, 1,5,4,")) << rows[0];
  EXPECT_TRUE(rows[1].starts_with("0,0,0, 1,50,32,")) << rows[1];
  EXPECT_TRUE(rows[2].starts_with("0,0,0, 1,25,16,")) << rows[2];
  EXPECT_TRUE(rows[3].starts_with("0,0,0, 1,10,8,")) << rows[3];
  EXPECT_TRUE(
      job.log().starts_with("hierarchical_allreduce,hierarchical_allgather,torus_allreduce,cache_enabled,cycle_"
                            "time_ms,tensor_fusion_threshold,score\n"));
  // The last row is the best one, and its values are used.
  double best = 0;
  for (std::size_t i = 0; i + 1 < rows.size(); ++i)
    best = std::max(best, std::stod(rows[i].substr(rows[i].rfind(',') + 1)));
  EXPECT_EQ(std::stod(rows.back().substr(rows.back().rfind(',') + 1)), best);
  EXPECT_GT(best, 950);
  EXPECT_NEAR(hill(job.manager().values()), job.manager().best().score, 1);
  EXPECT_EQ(job.run(200), 0);
}

TEST(ParameterManager, SixColumnsHaveNoBlank) {
  Job job(plan_of_upstream(), hill, LogFormat::before_torus);
  job.run(300);
  EXPECT_TRUE(job.log().starts_with(
      "hierarchical_allreduce,hierarchical_allgather,cache_enabled,cycle_time_ms,tensor_fusion_threshold,score\n"
      "0,0,1,5,4,"))
      << job.log();
}

TEST(ParameterManager, EqualJobsAreTunedEqually) {
  const auto log_of = [](std::uint64_t seed) {
    TuningPlan plan;
    plan.search.seed = seed;
    Job job(plan, hill);
    job.run_until_done();
    return job.log();
  };
  EXPECT_EQ(log_of(5), log_of(5));
  EXPECT_EQ(log_of(5) != log_of(6), GaussianProcess::is_available());
}

TEST(ParameterManager, ValuesOfTheUserAreNotTuned) {
  const auto lookup = [](const std::string& name) {
    return name == "HOROVOD_FUSION_THRESHOLD" ? std::optional<std::string>("8388608") : std::nullopt;
  };
  const TuningPlan plan = make_tuning_plan(read_horovod_settings(lookup, false), false);
  EXPECT_FALSE(plan.tunes_fusion);
  ASSERT_EQ(plan.switches.size(), 1u);
  EXPECT_EQ(plan.switches[0].parameter, TunedSwitch::cache_enabled);
  EXPECT_EQ(make_tuning_plan({}, true).switches.size(), 4u);
  Job job(plan, hill);
  job.run_until_done();
  for (const std::string& row : job.rows()) EXPECT_NE(row.find(",8,"), std::string::npos) << row;
  EXPECT_EQ(job.manager().values().fusion_threshold_mb, 8);
  EXPECT_NEAR(job.manager().values().cycle_time_ms, 12, 8);
}

TEST(ParameterManager, NothingToTuneEndsAfterOnePoint) {
  TuningPlan plan = plan_of_upstream();
  plan.tunes_fusion = plan.tunes_cycle = false;
  Job job(plan, hill);
  job.run_until_done();
  EXPECT_EQ(job.rows().size(), 2u);
  EXPECT_EQ(job.manager().values(), plan.start);
}

TEST(ParameterManager, SwitchesAreTriedOneAfterTheOther) {
  TuningPlan plan;
  plan.most_points = 4;
  plan.inner_backends = {"native", "mpi"};
  plan.switches = {{TunedSwitch::cache_enabled, {0, 1}},
                   {TunedSwitch::partition_mb, {0, 4, 16}},
                   {TunedSwitch::inner_backend, {0, 1}}};
  Job job(
      plan,
      [](const TunedValues& values) {
        return hill(values) * (values.cache_enabled ? 1 : 0.5) * (values.partition_mb == 4 ? 2 : 1) *
               (values.inner_backend == 1 ? 3 : 1);
      },
      LogFormat::extended);
  job.run_until_done();
  const TuningResult best = job.manager().best();
  EXPECT_TRUE(best.values.cache_enabled);
  EXPECT_EQ(best.values.partition_mb, 4);
  EXPECT_EQ(best.inner_backend, "mpi");
  EXPECT_EQ(best.values, job.manager().values());
  // 5 points, 1 + 2 + 1 values of switches, 4 comparisons with the start, the best one.
  EXPECT_EQ(job.rows().size(), 14u);
  EXPECT_NE(job.rows().back().find(",4,mpi,"), std::string::npos) << job.log();
}

TEST(ParameterManager, TheStartIsTriedAndWins) {
  // The start, 128 MB and 1 ms, is faster than everything in the box.
  Job job({}, [](const TunedValues& values) { return values.fusion_threshold_mb > 100 ? 2000 : hill(values); });
  job.run_until_done();
  EXPECT_TRUE(job.rows()[0].starts_with("0,0,0, 1,1,128,")) << job.rows()[0];
  EXPECT_EQ(job.manager().values(), TunedValues{});
  EXPECT_NEAR(job.manager().best().score, 2000, 1);
}

TEST(ParameterManager, AWinnerByChanceLosesTheComparisonWithTheStart) {
  int measured = 0;
  TunedValues last{};
  // Every place has the same speed; the third one is measured too fast.
  TuningPlan plan;
  plan.warmup_scores = 0;
  Job job(plan, [&](const TunedValues& values) {
    if (!(values == last)) ++measured;
    last = values;
    return values.fusion_threshold_mb > 100 ? 500.0 : measured == 3 ? 900.0 : 499.0;
  });
  job.run_until_done();
  EXPECT_EQ(job.manager().values(), plan.start);
  EXPECT_NEAR(job.manager().best().score, 500, 1);
}

TEST(ParameterManager, AShortJobHasItsBestRow) {
  Job job({}, hill);
  job.run(25);  // of the first score of the warm-up
  job.manager().finish(job.now());
  ASSERT_EQ(job.rows().size(), 2u);
  EXPECT_EQ(job.rows()[0], job.rows()[1]);
  EXPECT_TRUE(job.rows()[1].starts_with("0,0,0, 1,1,128,")) << job.rows()[1];
  EXPECT_FALSE(job.manager().is_active());
  job.manager().finish(job.now());
  EXPECT_EQ(job.rows().size(), 2u);

  Job shortest({}, hill);
  shortest.run(3);
  shortest.manager().finish(shortest.now());
  EXPECT_EQ(shortest.rows().size(), 2u);

  Job empty({}, hill);
  empty.manager().finish(empty.now());
  ASSERT_EQ(empty.rows().size(), 1u);
  EXPECT_TRUE(empty.rows()[0].starts_with("0,0,0, 1,1,128,0")) << empty.rows()[0];
}

TEST(ParameterManager, TunesAgainWhenTheWorkloadChanges) {
  TuningPlan plan;
  plan.watches_workload = true;
  plan.most_points = 3;
  Job job(plan, hill);
  job.run_until_done();
  EXPECT_EQ(job.run(300), 0);
  EXPECT_FALSE(job.manager().is_active());
  EXPECT_EQ(job.run(60, 12'000'000), 1);
  EXPECT_TRUE(job.manager().is_active());
  EXPECT_EQ(job.manager().values(), plan.start);
  job.run_until_done();
  EXPECT_FALSE(job.manager().is_active());
}

TEST(ParameterManager, AClockThatStandsStillIsNoProblem) {
  std::ostringstream out;
  TuningLog log(out, LogFormat::upstream);
  ParameterManager manager({}, &log, {});
  const std::vector<std::string> names = {"a"};
  for (int i = 0; i < 5000; ++i) manager.update(names, 100, {});
  EXPECT_FALSE(manager.is_active());
  EXPECT_EQ(manager.values(), TunedValues{});
}

}  // namespace
}  // namespace tutti::horovod
