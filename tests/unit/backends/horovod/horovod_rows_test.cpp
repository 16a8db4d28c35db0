// Allgathers and reducescatters that are fused, with ranks that are threads, over the native engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "set_engines.hpp"
#include "support/rank_threads.hpp"
#include "tutti/horovod.hpp"
#include "tutti/observer.hpp"

namespace tutti::horovod {
namespace {

test::RankOptions on_engine() {
  test::RankOptions options;
  options.communicator.config.set("TUTTI_BACKEND", "horovod:native");
  return options;
}

/// Tensors per operation of the inner backend on rank 0.
class Parts final : public Observer {
 public:
  using Observer::on;
  void on(const InnerOperation& operation) noexcept override {
    const std::scoped_lock lock(mutex_);
    if (operation.rank == 0 && operation.kind != OpKind::allreduce) parts_.push_back(operation.parts);
  }
  [[nodiscard]] std::vector<std::uint32_t> take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(parts_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::uint32_t> parts_;
};

/// Rows of a tensor that a rank contributes; 0 for some.
std::int64_t rows_of(std::size_t tensor, int rank) {
  return static_cast<std::int64_t>((tensor * 3 + static_cast<std::size_t>(rank) * 5) % 4);
}

std::int32_t value_of(std::size_t tensor, int rank, std::size_t element) {
  return static_cast<std::int32_t>(tensor * 1000 + static_cast<std::size_t>(rank) * 100 + element);
}

std::vector<std::int32_t> gathered(std::size_t tensor, std::size_t columns, int ranks) {
  std::vector<std::int32_t> all;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::size_t count = static_cast<std::size_t>(rows_of(tensor, rank)) * columns;
    for (std::size_t i = 0; i < count; ++i) all.push_back(value_of(tensor, rank, i));
  }
  return all;
}

void gather_groups(const Communicator& comm) {
  const Engine engine(comm);
  constexpr std::size_t kTensors = 8;
  for (int step = 0; step < 3; ++step) {  // the first one is negotiated, the others come from the cache
    std::vector<std::vector<std::int32_t>> inputs(kTensors);
    std::vector<std::vector<std::int32_t>> outputs(kTensors);
    std::vector<std::string> names(kTensors);
    std::vector<GroupedTensor> group;
    for (std::size_t i = 0; i < kTensors; ++i) {
      const std::size_t columns = 1 + i % 3;
      inputs[i].resize(static_cast<std::size_t>(rows_of(i, comm.rank())) * columns);
      for (std::size_t k = 0; k < inputs[i].size(); ++k) inputs[i][k] = value_of(i, comm.rank(), k);
      names[i] = "gather" + std::to_string(i);
      Buffer out;
      if (i % 2 == 0) {
        outputs[i].resize(gathered(i, columns, comm.size()).size());
        out = outputs[i];
      }
      group.push_back({.name = names[i],
                       .in = inputs[i],
                       .out = out,
                       .shape = {rows_of(i, comm.rank()), static_cast<std::int64_t>(columns)}});
    }
    std::shuffle(group.begin(), group.end(), std::mt19937(static_cast<unsigned>(comm.rank() + step * 10)));
    std::map<std::string_view, Handle> handles;
    const std::vector<Handle> in_order = engine.grouped_allgather(group);
    for (std::size_t i = 0; i < kTensors; ++i) handles[group[i].name] = in_order[i];
    for (std::size_t i = 0; i < kTensors; ++i) {
      const Handle& handle = handles[names[i]];
      handle.wait();
      const auto expected = gathered(i, 1 + i % 3, comm.size());
      if (outputs[i].empty()) {
        const auto own = handle.output_as<std::int32_t>();
        EXPECT_EQ(std::vector<std::int32_t>(own.begin(), own.end()), expected) << i;
      } else {
        EXPECT_EQ(outputs[i], expected) << i;
      }
      for (int rank = 0; rank < comm.size(); ++rank)
        EXPECT_EQ(handle.received()[static_cast<std::size_t>(rank)], rows_of(i, rank));
    }
  }
}

TEST(HorovodRows, GathersGroupsInOneOperation) {
  for (const int ranks : {1, 2, 3}) {
    Parts parts;
    {
      const ObserverHandle handle = add_observer(parts);
      TUTTI_EXPECT_RANKS(ranks, gather_groups, on_engine());
    }
    EXPECT_EQ(parts.take(), (std::vector<std::uint32_t>{8, 8, 8})) << ranks;
  }
}

/// The rows of a reducescatter that a rank gets: of `rows` rows of 2 elements whose value is their number.
std::vector<float> own_part(std::int64_t rows, int rank, int ranks, float factor) {
  std::vector<float> part;
  for (int before = 0, row = 0; before <= rank; ++before) {
    for (std::int64_t i = 0; i < rows / ranks + (before < rows % ranks ? 1 : 0); ++i, ++row) {
      if (before == rank) part.insert(part.end(), {static_cast<float>(2 * row), static_cast<float>(2 * row + 1)});
    }
  }
  for (float& value : part) value *= factor;
  return part;
}

void scatter_groups(const Communicator& comm, const TensorOptions& options, float factor) {
  const Engine engine(comm);
  constexpr std::int64_t kTensors = 6;
  for (int step = 0; step < 2; ++step) {
    std::vector<std::vector<float>> inputs(kTensors);
    std::vector<std::string> names(kTensors);
    std::vector<GroupedTensor> group;
    for (std::int64_t i = 0; i < kTensors; ++i) {  // with fewer rows than ranks, too
      auto& input = inputs[static_cast<std::size_t>(i)];
      input.resize(static_cast<std::size_t>(2 * i));
      std::iota(input.begin(), input.end(), 0.0F);
      names[static_cast<std::size_t>(i)] = "scatter" + std::to_string(i);
      group.push_back({.name = names[static_cast<std::size_t>(i)], .in = input, .out = {}, .shape = {i, 2}});
    }
    const std::vector<Handle> handles = engine.grouped_reducescatter(group, options);
    for (std::int64_t i = 0; i < kTensors; ++i) {
      handles[static_cast<std::size_t>(i)].wait();
      const auto own = handles[static_cast<std::size_t>(i)].output_as<float>();
      EXPECT_EQ(std::vector<float>(own.begin(), own.end()), own_part(i, comm.rank(), comm.size(), factor)) << i;
    }
  }
}

TEST(HorovodRows, ScattersGroupsInOneOperation) {
  for (const int ranks : {1, 2, 3}) {
    Parts parts;
    {
      const ObserverHandle handle = add_observer(parts);
      TUTTI_EXPECT_RANKS(
          ranks,
          [&](const Communicator& comm) {
            scatter_groups(comm, {.op = ReduceOp::sum}, static_cast<float>(ranks));
            scatter_groups(comm, {.op = ReduceOp::average, .prescale = 0.5, .postscale = 4.0}, 2.0F);
          },
          on_engine());
    }
    EXPECT_EQ(parts.take(), (std::vector<std::uint32_t>{6, 6, 6, 6})) << ranks;
  }
}

TEST(HorovodRows, AnErrorOfOneTensorOfAGroupLeavesTheOthersAlone) {
  TUTTI_EXPECT_RANKS(
      2,
      [](const Communicator& comm) {
        const Engine engine(comm);
        const std::vector<std::int32_t> mine(2, comm.rank());
        std::vector<std::int32_t> enough(4);
        std::vector<std::int32_t> too_small(3, 7);
        const std::vector<GroupedTensor> group = {{.name = "small", .in = mine, .out = too_small},
                                                  {.name = "large", .in = mine, .out = enough}};
        const std::vector<Handle> handles = engine.grouped_allgather(group);
        try {
          handles[0].wait();
          ADD_FAILURE() << "no error";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
          EXPECT_STREQ("the output of 'small' has 3 elements, but the result has 4", error.what());
        }
        EXPECT_EQ(too_small, std::vector<std::int32_t>(3, 7));
        handles[1].wait();
        EXPECT_EQ(enough, (std::vector<std::int32_t>{0, 0, 1, 1}));
        EXPECT_THROW((void)engine.grouped_reducescatter(group, {.op = ReduceOp::max}), Error);
        EXPECT_TRUE(engine.grouped_allgather({}).empty());
      },
      on_engine());
}

/// A reducescatter of one rank, over an inner backend that has only some of the reductions.
void scatter_without(const Rendezvous& meeting, const spi::Capabilities& capabilities, std::vector<OpKind>& kinds) {
  SetEngine engine = make_set_engine(
      meeting, {.controller = {.parameters = {.fusion_threshold = 1 << 20, .cycle_ns = 1'000'000}}},
      [&](const Operation& operation) { kinds.push_back(operation.kind); }, capabilities);
  std::vector<std::vector<float>> data(3);
  std::vector<EntryPointer> entries;
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i].assign((i + 1) * 2, static_cast<float>(meeting.rank() + 1));
    const EntryPointer entry = allreduce_entry("t" + std::to_string(i), data[i]);
    entry->request.kind = MessageKind::reducescatter;
    entry->request.reduction = Reduction::average;
    entry->request.shape = {static_cast<std::int64_t>(i) + 1, 2};
    entry->request.prescale = 2.0;
    entry->request.postscale = 0.5;
    entry->allocates = true;
    entry->request.group = "t";
    entry->request.group_size = 3;
    entries.push_back(entry);
  }
  engine.enqueue(entries, true);
  for (std::size_t i = 0; i < data.size(); ++i) {
    ASSERT_TRUE(engine.wait(*entries[i], spi::Deadline::max()));
    ASSERT_FALSE(entries[i]->error.has_value()) << entries[i]->error->what();
    const auto* const values = reinterpret_cast<const float*>(entries[i]->output.data());
    const std::size_t rows = meeting.rank() == 0 ? (i + 2) / 2 : (i + 1) / 2;
    EXPECT_EQ(std::vector<float>(values, values + entries[i]->output.size() / 4), std::vector<float>(rows * 2, 1.5F));
  }
  engine.shutdown();
}

TEST(HorovodRows, ScattersWithWhatTheInnerBackendHas) {
  spi::Capabilities no_average;
  for (const OpTraits& row : kOpTraits) no_average.add(row.kind);
  no_average.add(DataType::float32).add(DataType::uint8).set_prescale(true).add(Reduction::sum, DataType::float32);
  spi::Capabilities no_prescale = no_average;
  no_prescale.set_prescale(false);
  spi::Capabilities no_reduction;
  for (const OpTraits& row : kOpTraits) no_reduction.add(row.kind);
  no_reduction.add(DataType::float32).add(DataType::uint8);
  const std::vector<std::pair<spi::Capabilities, OpKind>> cases = {
      {spi::Capabilities::all(), OpKind::reduce_scatterv},
      {no_average, OpKind::reduce_scatterv},
      {no_prescale, OpKind::allreduce},
      {no_reduction, OpKind::allgather},
  };
  for (const auto& [capabilities, expected] : cases) {
    const std::vector<Rendezvous> meetings = local_rendezvous(2);
    std::vector<std::vector<OpKind>> kinds(2);
    {
      std::vector<std::jthread> ranks;
      for (std::size_t rank = 0; rank < 2; ++rank)
        ranks.emplace_back([&, rank] { scatter_without(meetings[rank], capabilities, kinds[rank]); });
    }
    EXPECT_EQ(kinds[0], std::vector<OpKind>{expected}) << name(expected);
    EXPECT_EQ(kinds[1], std::vector<OpKind>{expected}) << name(expected);
  }
}

}  // namespace
}  // namespace tutti::horovod
