// Inner backends as a parameter of autotune, and results that are kept in the tuning file; ranks are threads over the
// native engine and the minimal backend of the tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "autotune/kept_result.hpp"
#include "support/rank_threads.hpp"
#include "support/refusals.hpp"
#include "support/system/environment_variable.hpp"
#include "support/system/temporary_folder.hpp"
#include "tutti/horovod.hpp"
#include "tutti/info.hpp"
#include "tutti/spi/tensors/tensor_stages.hpp"

namespace tutti::horovod {
namespace {

using test::EnvironmentVariable;
using test::RankOptions;

/// Collects the backends that allreduces of the engines go to.
class Backends final : public spi::TensorStageObserver {
 public:
  Backends() { spi::set_tensor_stage_observer(this); }
  /// After the ranks have ended.
  std::set<std::string> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(seen_, {});
  }
  void on(const spi::TensorStage& stage) noexcept override {
    if (!stage.stage.ends_with("_ALLREDUCE") || stage.stage.starts_with("NEGOTIATE")) return;
    const std::scoped_lock lock(mutex_);
    seen_.emplace(stage.stage);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> seen_;
};

Backends& backends_seen() {
  static auto* const one = new Backends;
  return *one;
}

class HorovodInner : public testing::Test {
 protected:
  RankOptions options() const {
    RankOptions options;
    options.communicator.config.set("TUTTI_MODULE_PATH", TUTTI_TEST_MODULES)
        .set("TUTTI_BACKEND", "horovod:native")
        .set("TUTTI_TUNING", tuning_);
    return options;
  }
  TuningTable table() const {
    std::ifstream file(tuning_);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    return parse_tuning(text);
  }
  void write(const TuningTable& table) const { std::ofstream(tuning_) << to_text(table); }
  static TuningTable here() {
    TuningTable table;
    table.tutti = version();
    table.machine = this_tuning_machine();
    return table;
  }

  test::TemporaryFolder folder_;
  std::string tuning_ = folder_.file("tuning");
};

void reduce_step(const Engine& engine) {
  std::vector<float> first(50, 1.0F);
  std::vector<double> second(20, 2.0);  // the minimal backend has no such reduction
  const std::vector<Handle> handles = {engine.allreduce("a", first, first, {.op = ReduceOp::sum}),
                                       engine.allreduce("b", second, second, {.op = ReduceOp::sum})};
  for (const Handle& handle : handles) handle.wait();
  EXPECT_EQ(first, std::vector<float>(50, static_cast<float>(engine.size())));
  EXPECT_EQ(second, std::vector<double>(20, 2.0 * engine.size()));
}

/// Steps until all ranks know that the search has ended.
void search(const Communicator& comm) {
  const Engine engine(comm);
  EXPECT_TRUE(engine.autotune().is_active);
  for (int step = 0; step < 5000; ++step) {
    std::int32_t is_active = engine.autotune().is_active ? 1 : 0;
    engine.communicator().allreduce(Buffer(&is_active, 1), {.op = Reduction::max});
    if (is_active == 0) return;
    reduce_step(engine);
  }
  ADD_FAILURE() << "the search did not end";
}

TEST_F(HorovodInner, IsTriedBySearchesAndKeptInTheTuningFile) {
  TuningTable before = here();
  before.engines.push_back({"horovod:native", 4, {{"fusion_threshold_mb", "1"}, {"cycle_time_ms", "2"}}});
  before.engines.push_back({"horovod:native", 2, {{"fusion_threshold_mb", "1"}, {"cycle_time_ms", "2"}}});
  write(before);
  const std::string log = folder_.file("log.csv");
  RankOptions of_job = options();
  of_job.communicator.config.set("TUTTI_HOROVOD_TUNED", "tuning")
      .set("TUTTI_HOROVOD_TUNE_INNER", "no-such,minimal,native,minimal")
      .set("TUTTI_HOROVOD_LOG_COLUMNS", "9");
  (void)backends_seen().take();
  {
    const EnvironmentVariable on("HOROVOD_AUTOTUNE", "1");
    const EnvironmentVariable to("HOROVOD_AUTOTUNE_LOG", log);
    const EnvironmentVariable warmup("HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "0");
    const EnvironmentVariable steps("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "1");
    const EnvironmentVariable points("HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "1");
    TUTTI_EXPECT_RANKS(2, search, of_job);
  }
  EXPECT_EQ(backends_seen().take(), (std::set<std::string>{"MINIMAL_ALLREDUCE", "NATIVE_ALLREDUCE"}));
  std::ifstream file(log);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_NE(text.find(",minimal,"), std::string::npos) << text;
  EXPECT_NE(text.find(",native,"), std::string::npos) << text;

  // The entry for two ranks is new, the other one is there still.
  const TuningTable after = table();
  EXPECT_EQ(after.engines.size(), 2u);
  ASSERT_NE(after.find_engine("horovod:native", 4), nullptr);
  EXPECT_EQ(*after.find_engine("horovod:native", 4), before.engines.front());
  ASSERT_NE(after.find_engine("horovod:native", 2), nullptr);
  const TuningResult kept = from_entry(*after.find_engine("horovod:native", 2));
  EXPECT_GT(kept.score, 0);
  EXPECT_TRUE(kept.inner_backend == "native" || kept.inner_backend == "minimal") << kept.inner_backend;
}

TEST_F(HorovodInner, OfTheTuningFileIsUsedByTheNextJob) {
  TuningTable table = here();
  TuningResult result;
  result.values.fusion_threshold_mb = 3;
  result.values.cycle_time_ms = 0.5;
  result.inner_backend = "minimal";
  table.engines.push_back(to_entry(result, "horovod:native", 2));
  write(table);
  const auto threshold_with = [](const RankOptions& of_job, int ranks) {
    std::atomic<std::uint64_t> threshold = 0;
    TUTTI_EXPECT_RANKS(
        ranks,
        [&](const Communicator& comm) {
          const Engine engine(comm);
          reduce_step(engine);
          reduce_step(engine);
          EXPECT_FALSE(engine.autotune().is_active);
          threshold = engine.autotune().fusion_threshold;
          // Others are made of it, and work as well.
          reduce_step(Engine(comm.duplicate("copy")));
        },
        of_job);
    return threshold.load();
  };
  (void)backends_seen().take();
  EXPECT_EQ(threshold_with(options(), 2), std::uint64_t{3} << 20);
  EXPECT_EQ(backends_seen().take(), (std::set<std::string>{"MINIMAL_ALLREDUCE", "NATIVE_ALLREDUCE"}));
  // Of another number of ranks there are no values, and a job that must be reproducible uses none.
  EXPECT_EQ(threshold_with(options(), 3), std::uint64_t{128} << 20);
  RankOptions reproducible = options();
  reproducible.communicator.config.set("TUTTI_REPRODUCIBLE", "1");
  EXPECT_EQ(threshold_with(reproducible, 2), std::uint64_t{128} << 20);
  EXPECT_EQ(backends_seen().take(), (std::set<std::string>{"NATIVE_ALLREDUCE"}));
  // A backend that is not there is left out; the rest of the values holds.
  table.engines.front().values.back().second = "no-such";
  write(table);
  EXPECT_EQ(threshold_with(options(), 2), std::uint64_t{3} << 20);
  EXPECT_EQ(backends_seen().take(), (std::set<std::string>{"NATIVE_ALLREDUCE"}));
}

TEST_F(HorovodInner, AResultIsTheSameInTheTuningFile) {
  const TuningResult result = {.values = {.fusion_threshold_mb = 23.1234567890123,
                                          .cycle_time_ms = 0.1,
                                          .partition_mb = 4,
                                          .cache_enabled = false},
                               .score = 1001.59,
                               .inner_backend = "mpi:openmpi"};
  TuningTable table = here();
  table.engines.push_back(to_entry(result, "horovod:native", 3));
  EXPECT_EQ(from_entry(parse_tuning(to_text(table)).engines.at(0)), result);
}

TEST_F(HorovodInner, AResultThatWouldBeLostIsAnError) {
  TuningTable table = here();
  table.machine.cpu = "another";
  write(table);
  const Config config = options().communicator.config;
  const auto error_with = [&](const std::string& tuning) {
    Config other = config;
    other.set("TUTTI_HOROVOD_TUNED", "tuning").set("TUTTI_TUNING", tuning);
    return test::error_of([&] { KeptResult(other, "horovod:native", 2).check_writable(); }, ErrorCode::config);
  };
  EXPECT_NE(error_with(tuning_).find("the result of autotune cannot be kept: the tuning file"), std::string::npos)
      << error_with(tuning_);
  EXPECT_NE(error_with("none").find("TUTTI_TUNING=none"), std::string::npos);
  Config silent = config;
  KeptResult(silent, "horovod:native", 2).check_writable();  // it writes nothing
  silent.set("TUTTI_HOROVOD_TUNED", "tuning").set("TUTTI_TUNING", folder_.file("deep/new"));
  const KeptResult kept(silent, "horovod:native", 2);
  kept.check_writable();
  TuningResult result;
  result.score = 1;
  kept.save(result);
  EXPECT_EQ(kept.load()->score, 1);
}

}  // namespace
}  // namespace tutti::horovod
