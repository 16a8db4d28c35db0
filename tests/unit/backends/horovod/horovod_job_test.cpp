// Autotune of the engine in whole jobs, with ranks that are threads over the native engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "autotune/tuned_values.hpp"
#include "support/rank_threads.hpp"
#include "support/system/environment_variable.hpp"
#include "support/system/temporary_folder.hpp"
#include "tutti/horovod.hpp"
#include "tutti/observer.hpp"

namespace tutti::horovod {
namespace {

using test::RankOptions;

using Variable = test::EnvironmentVariable;

RankOptions on_engine() {
  RankOptions options;
  options.communicator.config.set("TUTTI_BACKEND", "horovod:native");
  return options;
}

void reduce_step(const Engine& engine, std::vector<std::vector<float>>& tensors) {
  std::vector<Handle> handles;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    tensors[i].assign(50 + i, 1.0F);
    handles.push_back(engine.allreduce("t" + std::to_string(i), tensors[i], tensors[i], {.op = ReduceOp::sum}));
  }
  for (const Handle& handle : handles) handle.wait();
  for (const auto& tensor : tensors) EXPECT_EQ(tensor.back(), static_cast<float>(engine.size()));
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// Steps until all ranks know that the search has ended; false if it does not end.
bool search_to_the_end(const Engine& engine, std::vector<std::vector<float>>& tensors) {
  for (int step = 0; step < 5000; ++step) {
    std::int32_t is_active = engine.autotune().is_active ? 1 : 0;
    engine.communicator().allreduce(Buffer(&is_active, 1), {.op = Reduction::max});
    if (is_active == 0) return true;
    reduce_step(engine, tensors);
  }
  return false;
}

TEST(Autotune, EndsWithTheSameParametersOnAllRanksAndKeepsThem) {
  const test::TemporaryFolder folder;
  const std::string log = folder.file("log.csv");
  const std::string kept = folder.file("tuned");
  std::mutex mutex;
  std::set<std::pair<std::uint64_t, double>> ends;
  RankOptions options = on_engine();
  options.communicator.config.set("TUTTI_HOROVOD_TUNED", kept);
  {
    const Variable on("HOROVOD_AUTOTUNE", "1");
    const Variable to("HOROVOD_AUTOTUNE_LOG", log);
    const Variable warmup("HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "1");
    const Variable steps("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "1");
    const Variable points("HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "2");
    TUTTI_EXPECT_RANKS(
        3,
        [&](const Communicator& comm) {
          const Engine engine(comm);
          EXPECT_TRUE(engine.autotune().is_active);
          std::vector<std::vector<float>> tensors(7);
          EXPECT_TRUE(search_to_the_end(engine, tensors));
          reduce_step(engine, tensors);
          // A communicator made of this one does not tune, and leaves the log alone.
          EXPECT_FALSE(Engine(comm.duplicate("copy")).autotune().is_active);
          const Engine::Autotune now = engine.autotune();
          EXPECT_GT(now.best_score, 0);
          const std::scoped_lock lock(mutex);
          ends.insert({now.fusion_threshold, now.cycle_ms});
        },
        options);
  }
  ASSERT_EQ(ends.size(), 1u);
  const std::vector<std::string> lines = lines_of(log);
  ASSERT_GE(lines.size(), 5u);  // three points and the best one
  EXPECT_EQ(lines.front(),
            "hierarchical_allreduce,hierarchical_allgather,torus_allreduce,cache_enabled,cycle_time_ms,"
            "tensor_fusion_threshold,score");
  for (std::size_t i = 1; i < lines.size(); ++i) EXPECT_TRUE(lines[i].starts_with("0,0,0, ")) << lines[i];
  const TuningResult best = load_tuning(kept);
  EXPECT_EQ(best.values.fusion_threshold_bytes(), ends.begin()->first);

  // The next job begins with them, without a search.
  TUTTI_EXPECT_RANKS(
      2,
      [&](const Communicator& comm) {
        const Engine engine(comm);
        std::vector<std::vector<float>> tensors(3);
        reduce_step(engine, tensors);
        const Engine::Autotune now = engine.autotune();
        EXPECT_FALSE(now.is_active);
        EXPECT_EQ(now.fusion_threshold, ends.begin()->first);
        EXPECT_EQ(now.cycle_ms, ends.begin()->second);
      },
      options);
}

TEST(Autotune, TriesSizesOfPartsOnRequest) {
  const test::TemporaryFolder folder;
  const std::string log = folder.file("log.csv");
  RankOptions options = on_engine();
  options.communicator.config.set("TUTTI_HOROVOD_TUNE_PARTITION", "1");
  options.communicator.config.set("TUTTI_HOROVOD_LOG_COLUMNS", "9");
  const Variable on("HOROVOD_AUTOTUNE", "1");
  const Variable to("HOROVOD_AUTOTUNE_LOG", log);
  const Variable warmup("HOROVOD_AUTOTUNE_WARMUP_SAMPLES", "0");
  const Variable steps("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE", "1");
  const Variable points("HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES", "1");
  TUTTI_EXPECT_RANKS(
      2,
      [&](const Communicator& comm) {
        const Engine engine(comm);
        std::vector<std::vector<float>> tensors(3);
        EXPECT_TRUE(search_to_the_end(engine, tensors));
        reduce_step(engine, tensors);
      },
      options);
  const std::vector<std::string> lines = lines_of(log);
  ASSERT_GE(lines.size(), 3u);
  EXPECT_NE(lines.front().find(",tensor_fusion_threshold,partition_mb,inner_backend,score"), std::string::npos);
  const auto tried = [&](const std::string& part) {
    return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(part) != std::string::npos; });
  };
  // Behind the fusion threshold and before the name of the inner backend, which is empty.
  EXPECT_TRUE(tried(",4,,") && tried(",16,,"));
}

TEST(Autotune, ShortJobsHaveALogToo) {
  const test::TemporaryFolder folder;
  const std::string log = folder.file("log.csv");
  const Variable on("HOROVOD_AUTOTUNE", "1");
  const Variable to("HOROVOD_AUTOTUNE_LOG", log);
  RankOptions options = on_engine();
  options.communicator.config.set("TUTTI_HOROVOD_LOG_COLUMNS", "6");
  TUTTI_EXPECT_RANKS(
      2,
      [](const Communicator& comm) {
        const Engine engine(comm);
        std::vector<std::vector<float>> tensors(3);
        reduce_step(engine, tensors);
      },
      options);
  const std::vector<std::string> lines = lines_of(log);
  ASSERT_EQ(lines.size(), 3u);  // the point that was being measured, then the best one
  EXPECT_TRUE(lines.back().starts_with("0,0,1,1,128,")) << lines.back();
}

TEST(Autotune, ALogThatCannotBeWrittenIsAnError) {
  const Variable on("HOROVOD_AUTOTUNE", "1");
  const Variable to("HOROVOD_AUTOTUNE_LOG", "/does/not/exist/log.csv");
  try {
    (void)local_group(1, on_engine().communicator);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("HOROVOD_AUTOTUNE_LOG=/does/not/exist/log.csv"), std::string::npos)
        << error.what();
  }
}

/// The end of the tensor of a rank that the others do not submit.
std::string end_of_stalled(const Handle& handle) {
  try {
    handle.wait();
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Stalls, ARankWithoutTensorsIsNamedAndEndsTheEngine) {
  const Variable warning("HOROVOD_STALL_CHECK_TIME_SECONDS", "1");
  const Variable shutdown("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", "1");
  std::vector<Communicator> group = local_group(3, on_engine().communicator);
  std::vector<std::vector<float>> data(3, std::vector<float>(8, 1.0F));
  // Rank 1 submits nothing.
  const Handle first = Engine(group[0]).allreduce("late one", data[0], data[0]);
  const Handle last = Engine(group[2]).allreduce("late one", data[2], data[2]);
  const std::string text = end_of_stalled(first);
  EXPECT_NE(text.find("One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Missing ranks:\n1!: [late one]"), std::string::npos) << text;
  EXPECT_EQ(text.find("\n2"), std::string::npos) << text;
  EXPECT_EQ(end_of_stalled(last), text);
}

TEST(Stalls, RanksWithOtherTensorsAreNamedInAWarning) {
  const Variable warning("HOROVOD_STALL_CHECK_TIME_SECONDS", "1");
  std::barrier warned(2);
  TUTTI_EXPECT_RANKS(
      2,
      [&](const Communicator& comm) {
        const Engine engine(comm);
        std::vector<float> mine(8, 1.0F);
        std::vector<float> other(8, 1.0F);
        const std::string own = "of rank " + std::to_string(comm.rank());
        const Handle first = engine.allreduce(own, mine, mine);
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(50);
        while (engine.stall_warning().empty() && std::chrono::steady_clock::now() < give_up)
          EXPECT_FALSE(first.wait_for(std::chrono::milliseconds(20)));
        const std::string text = engine.stall_warning();
        EXPECT_NE(text.find("\n" + std::to_string(1 - comm.rank()) + ": [" + own + "]"), std::string::npos) << text;
        warned.arrive_and_wait();
        // Nothing has ended: the tensors meet at last.
        const Handle second = engine.allreduce("of rank " + std::to_string(1 - comm.rank()), other, other);
        first.wait();
        second.wait();
        EXPECT_EQ(engine.stall_warning(), "");
      },
      on_engine());
}

TEST(Compression, HalvesTheBytesOfTheInnerOperations) {
  class Bytes final : public Observer {
   public:
    using Observer::on;
    void on(const InnerOperation& operation) noexcept override {
      if (operation.kind == OpKind::allreduce && operation.rank == 0) bytes += operation.bytes;
    }
    std::atomic<std::uint64_t> bytes = 0;
  } observed;
  const ObserverHandle handle = add_observer(observed);
  TUTTI_EXPECT_RANKS(
      2,
      [](const Communicator& comm) {
        const Engine engine(comm);
        for (const Compression compression : {Compression::float16, Compression::bfloat16}) {
          std::vector<float> large(1000, 1.5F);
          std::vector<double> wide(10, 0.25);
          std::vector<std::int32_t> whole(10, 3);
          const TensorOptions options{.op = ReduceOp::sum, .compression = compression};
          const std::vector<Handle> handles = {engine.allreduce("large", large, large, options),
                                               engine.allreduce("wide", wide, wide, options),
                                               engine.allreduce("whole", whole, whole, options)};
          for (const Handle& one : handles) one.wait();
          EXPECT_EQ(large, std::vector<float>(1000, 3.0F));
          EXPECT_EQ(wide, std::vector<double>(10, 0.5));
          EXPECT_EQ(whole, std::vector<std::int32_t>(10, 6));
        }
      },
      on_engine());
  EXPECT_EQ(observed.bytes, 2u * (1010 * 2 + 10 * 4));
}

TEST(Timeline, IsWrittenWhereTheVariableSays) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("timeline.json");
  {
    const Variable to("HOROVOD_TIMELINE", path);
    TUTTI_EXPECT_RANKS(
        2,
        [](const Communicator& comm) {
          const Engine engine(comm);
          std::vector<std::vector<float>> tensors(3);
          reduce_step(engine, tensors);
        },
        on_engine());
  }
  std::string all;
  for (const std::string& line : lines_of(path)) all += line;
  EXPECT_NE(all.find("NEGOTIATE_ALLREDUCE"), std::string::npos) << all;
  EXPECT_TRUE(all.ends_with("]")) << all;
}

}  // namespace
}  // namespace tutti::horovod
