// Stages of named tensors as their observer sees them, on all ranks; ranks are threads over the native engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "support/rank_threads.hpp"
#include "tutti/horovod.hpp"
#include "tutti/observer.hpp"
#include "tutti/spi/tensors/tensor_stages.hpp"

namespace tutti::horovod {
namespace {

struct Seen {
  std::string tensor, stage, operation, backend;
  DataType type;
  std::uint64_t bytes, begin_ns, end_ns;
  std::uint32_t ranks;
};

/// Collects stages. Lives until the end of the process, as they must.
class Collector final : public spi::TensorStageObserver {
 public:
  void on(const spi::TensorStage& stage) noexcept override {
    const std::scoped_lock lock(mutex_);
    seen_.push_back({std::string(stage.tensor), std::string(stage.stage), std::string(stage.operation),
                     std::string(stage.backend), stage.type, stage.bytes, stage.begin_ns, stage.end_ns, stage.ranks});
  }
  std::vector<Seen> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(seen_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Seen> seen_;
};

Collector& collector() {
  static auto* const one = new Collector;
  return *one;
}

class Collecting {
 public:
  Collecting() { spi::set_tensor_stage_observer(&collector()); }
  ~Collecting() { spi::set_tensor_stage_observer(nullptr); }
  Collecting(const Collecting&) = delete;
  Collecting& operator=(const Collecting&) = delete;
};

test::RankOptions on_engine() {
  test::RankOptions options;
  options.communicator.config.set("TUTTI_BACKEND", "horovod:native");
  return options;
}

/// The stages of a tensor by their name; those of all ranks together.
std::map<std::string, std::vector<Seen>> stages_of(const std::vector<Seen>& all, const std::string& tensor) {
  std::map<std::string, std::vector<Seen>> stages;
  for (const Seen& one : all) {
    EXPECT_LE(one.begin_ns, one.end_ns) << one.stage;
    if (one.tensor == tensor) stages[one.stage].push_back(one);
  }
  return stages;
}

TEST(TensorStages, AreThoseOfEachTensorOnEveryRank) {
  (void)collector().take();
  const std::uint64_t before = observer_time_ns();
  {
    const Collecting collecting;
    TUTTI_EXPECT_RANKS(
        3,
        [](const Communicator& comm) {
          const Engine engine(comm);
          std::vector<float> a(100, 1.0F);
          std::vector<float> b(50, 1.0F);
          const std::vector<GroupedTensor> group = {{.name = "a", .in = a, .out = a}, {.name = "b", .in = b, .out = b}};
          for (const Handle& handle : engine.grouped_allreduce(group, {.op = ReduceOp::sum})) handle.wait();
          engine.broadcast("c", a, a, 1).wait();
        },
        on_engine());
  }
  const std::vector<Seen> all = collector().take();
  const auto a = stages_of(all, "a");
  std::vector<std::string> names;
  for (const auto& [name, stages] : a) {
    names.push_back(name);
    EXPECT_EQ(stages.size(), 3u) << name << ": one on each rank";
    for (const Seen& one : stages) {
      EXPECT_EQ(one.operation, "allreduce");
      EXPECT_EQ(one.backend, "native");
      EXPECT_EQ(one.type, DataType::float32);
      EXPECT_EQ(one.bytes, 400u);
      EXPECT_EQ(one.ranks, 3u);
      EXPECT_GE(one.begin_ns, before);
      EXPECT_LE(one.end_ns, observer_time_ns());
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"ALLREDUCE", "MEMCPY_IN_FUSION_BUFFER", "MEMCPY_OUT_FUSION_BUFFER",
                                             "NATIVE_ALLREDUCE", "NEGOTIATE_ALLREDUCE", "QUEUE"}));
  // Those of one rank follow each other: a rank's negotiation begins where its queue ends, and its parts are within the
  // operation.
  for (const Seen& queue : a.at("QUEUE")) {
    const auto follows = [&](const Seen& other) { return other.begin_ns == queue.end_ns; };
    const auto negotiation = std::ranges::find_if(a.at("NEGOTIATE_ALLREDUCE"), follows);
    ASSERT_NE(negotiation, a.at("NEGOTIATE_ALLREDUCE").end());
    const auto operation = std::ranges::find_if(
        a.at("ALLREDUCE"), [&](const Seen& other) { return other.begin_ns == negotiation->end_ns; });
    ASSERT_NE(operation, a.at("ALLREDUCE").end());
    const auto is_within = [&](const Seen& part) {
      return operation->begin_ns <= part.begin_ns && part.end_ns <= operation->end_ns;
    };
    for (const char* part : {"MEMCPY_IN_FUSION_BUFFER", "NATIVE_ALLREDUCE", "MEMCPY_OUT_FUSION_BUFFER"})
      EXPECT_TRUE(std::ranges::any_of(a.at(part), is_within)) << part;
  }
  const auto c = stages_of(all, "c");
  EXPECT_EQ(c.count("NEGOTIATE_BROADCAST") + c.count("BROADCAST") + c.count("NATIVE_BROADCAST"), 3u);
}

TEST(TensorStages, ErrorsEndThem) {
  (void)collector().take();
  {
    const Collecting collecting;
    TUTTI_EXPECT_RANKS(
        2,
        [](const Communicator& comm) {
          const Engine engine(comm);
          std::vector<float> data(static_cast<std::size_t>(3 + comm.rank()), 1.0F);
          EXPECT_THROW(engine.allreduce("bad", data, data).wait(), Error);
        },
        on_engine());
  }
  const auto stages = stages_of(collector().take(), "bad");
  for (const char* stage : {"QUEUE", "NEGOTIATE_ALLREDUCE", "ALLREDUCE"})
    EXPECT_EQ(stages.at(stage).size(), 2u) << stage;
}

TEST(TensorStages, NobodyIsToldWithoutAnObserver) {
  (void)collector().take();
  TUTTI_EXPECT_RANKS(
      2,
      [](const Communicator& comm) {
        std::vector<float> data(8, 1.0F);
        Engine(comm).allreduce("t", data, data).wait();
      },
      on_engine());
  EXPECT_TRUE(collector().take().empty());
}

}  // namespace
}  // namespace tutti::horovod
