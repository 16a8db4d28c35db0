// The engine with ranks that are threads, over the native engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "set_engines.hpp"
#include "support/rank_threads.hpp"
#include "tutti/horovod.hpp"
#include "tutti/observer.hpp"

namespace tutti::horovod {
namespace {

using test::RankOptions;
using test::run_ranks;

RankOptions on_engine() {
  RankOptions options;
  options.communicator.config.set("TUTTI_BACKEND", "horovod:native");
  return options;
}

std::vector<std::size_t> shuffled(std::size_t count, unsigned seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  return order;
}

std::string message_of(const Handle& handle) {
  try {
    handle.wait();
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(HorovodEngine, ReducesTensorsInAnyOrder) {
  TUTTI_EXPECT_RANKS(
      3,
      [](const Communicator& comm) {
        const Engine engine(comm);
        constexpr std::size_t kTensors = 60;
        std::vector<std::vector<float>> data(kTensors);
        for (unsigned step = 0; step < 6; ++step) {
          std::vector<Handle> handles(kTensors);
          std::atomic<int> called = 0;
          for (const std::size_t i : shuffled(kTensors, step * 7 + static_cast<unsigned>(comm.rank()))) {
            data[i].assign(i * 37 + (step == 4 ? 2 : 1), static_cast<float>(comm.rank() + 1));
            TensorOptions options{.op = i % 2 == 0 ? ReduceOp::sum : ReduceOp::average};
            options.postscale = i % 3 == 0 ? 2.0 : 1.0;
            options.callback = [&](const Error* error) { called += error == nullptr ? 1 : 1000; };
            handles[i] = engine.allreduce("a \"name\"\n" + std::to_string(i), data[i], data[i], options);
          }
          for (const Handle& handle : handles) handle.wait();
          EXPECT_EQ(called, static_cast<int>(kTensors));
          for (std::size_t i = 0; i < kTensors; ++i) {
            const float value = (i % 2 == 0 ? 6.0F : 2.0F) * (i % 3 == 0 ? 2.0F : 1.0F);
            EXPECT_EQ(std::ranges::count(data[i], value), static_cast<std::ptrdiff_t>(data[i].size())) << i;
          }
        }
      },
      on_engine());
}

TEST(HorovodEngine, GoesOnAfterErrors) {
  TUTTI_EXPECT_RANKS(
      2,
      [](const Communicator& comm) {
        const Engine engine(comm);
        for (int round = 0; round < 5; ++round) {
          std::vector<float> data(static_cast<std::size_t>(4 + comm.rank()), 1.0F);
          EXPECT_NE(message_of(engine.allreduce("t", data, data)).find("Mismatched ALLREDUCE tensor shapes"),
                    std::string::npos);
          std::vector<float> good(3, 1.0F);
          EXPECT_EQ(message_of(engine.allreduce("t", good, good, {.op = ReduceOp::sum})), "no error");
          EXPECT_EQ(good, std::vector<float>(3, 2.0F));
          std::vector<float> slow(5, 1.0F);
          if (comm.rank() == 0) {
            const Handle first = engine.allreduce("twice", slow, slow);
            EXPECT_THROW((void)engine.allreduce("twice", good, good), Error);
            engine.barrier();
            first.wait();
          } else {
            engine.barrier();
            engine.allreduce("twice", slow, slow).wait();
          }
        }
      },
      on_engine());
}

TEST(HorovodEngine, GathersScattersAndExchangesRows) {
  TUTTI_EXPECT_RANKS(
      3,
      [](const Communicator& comm) {
        const Engine engine(comm);
        const int rank = comm.rank();
        const std::vector<std::int32_t> rows(static_cast<std::size_t>(2 * (rank + 1)), rank);
        const Handle gathered = engine.allgather("g", rows, {}, {.shape = {rank + 1, 2}});
        gathered.wait();
        EXPECT_EQ(std::vector<std::int32_t>(gathered.output_as<std::int32_t>().begin(),
                                            gathered.output_as<std::int32_t>().end()),
                  (std::vector<std::int32_t>{0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}));
        std::vector<std::int32_t> root(4, rank);
        engine.broadcast("b", root, root, 2).wait();
        EXPECT_EQ(root, std::vector<std::int32_t>(4, 2));
        const std::vector<std::int64_t> splits = {1, rank, 2};
        const std::vector<std::int32_t> to_send(static_cast<std::size_t>(3 + rank), rank);
        const Handle exchanged = engine.alltoall("x", to_send, splits);
        exchanged.wait();
        const std::vector<std::int64_t> expected = rank == 0   ? std::vector<std::int64_t>{1, 1, 1}
                                                   : rank == 1 ? std::vector<std::int64_t>{0, 1, 2}
                                                               : std::vector<std::int64_t>{2, 2, 2};
        EXPECT_EQ(std::vector<std::int64_t>(exchanged.received().begin(), exchanged.received().end()), expected);
        std::vector<float> all(7);
        std::iota(all.begin(), all.end(), 0.0F);
        const Handle part = engine.reducescatter("r", all, {}, {.op = ReduceOp::sum});
        part.wait();
        const std::size_t first = rank == 0 ? 0 : rank == 1 ? 3 : 5;
        ASSERT_EQ(part.output_as<float>().size(), rank == 0 ? 3u : 2u);
        EXPECT_EQ(part.output_as<float>()[0], 3.0F * static_cast<float>(first));
      },
      on_engine());
}

TEST(HorovodEngine, JoinsWithZeros) {
  TUTTI_EXPECT_RANKS(
      3,
      [](const Communicator& comm) {
        const Engine engine(comm);
        for (int epoch = 0; epoch < 2; ++epoch) {
          for (int step = 0; step <= comm.rank(); ++step) {
            std::vector<double> data(5, 1.0);
            engine.allreduce("step", data, data, {.op = ReduceOp::sum}).wait();
            EXPECT_EQ(data, std::vector<double>(5, 3.0 - step));
          }
          EXPECT_EQ(engine.join(), 2);
        }
      },
      on_engine());
}

TEST(HorovodEngine, HasOverlappingProcessSets) {
  TUTTI_EXPECT_RANKS(
      3,
      [](const Communicator& comm) {
        const Engine engine(comm);
        const int low = engine.add_process_set(std::vector<int>{0, 1});
        const int high = engine.add_process_set(std::vector<int>{1, 2});
        EXPECT_EQ(engine.process_sets(), (std::vector<int>{0, low, high}));
        EXPECT_EQ(engine.process_set_ranks(high), (std::vector<int>{1, 2}));
        EXPECT_EQ(engine.process_set_size(high), 2);
        EXPECT_EQ(engine.process_set_included(high), comm.rank() > 0);
        if (comm.rank() > 0) {
          EXPECT_EQ(engine.process_set_rank(high), comm.rank() - 1);
        } else {
          EXPECT_THROW((void)engine.process_set_rank(high), Error);
        }
        std::vector<float> a(9, 1.0F);
        std::vector<float> b(9, 1.0F);
        std::vector<Handle> handles;
        // Rank 1 is in both; the others submit one after the other.
        if (comm.rank() >= 1)
          handles.push_back(engine.allreduce("t", b, b, {.op = ReduceOp::sum, .process_set = high}));
        if (comm.rank() <= 1) handles.push_back(engine.allreduce("t", a, a, {.op = ReduceOp::sum, .process_set = low}));
        for (const Handle& handle : handles) handle.wait();
        if (comm.rank() <= 1) {
          EXPECT_EQ(a, std::vector<float>(9, 2.0F));
        }
        if (comm.rank() >= 1) {
          EXPECT_EQ(b, std::vector<float>(9, 2.0F));
        }
        if (comm.rank() == 2) {
          EXPECT_THROW((void)engine.allreduce("t", a, a, {.process_set = low}), Error);
        }
        engine.remove_process_set(low);
        EXPECT_EQ(engine.add_process_set(std::vector<int>{0, 2}), low);
        engine.barrier();
      },
      on_engine());
}

TEST(HorovodEngine, EndsTensorsInFlightAtShutdown) {
  std::vector<Communicator> group = local_group(2, on_engine().communicator);
  std::vector<float> data(8, 1.0F);
  const Engine engine(group[0]);
  const Handle handle = engine.allreduce("alone", data, data);
  EXPECT_FALSE(handle.wait_for(std::chrono::milliseconds(10)));
  group[1] = {};  // the other rank leaves without the tensor
  EXPECT_NE(message_of(handle).find("Horovod has been shut down."), std::string::npos);
  EXPECT_THROW((void)engine.allreduce("later", data, data), Error);
}

TEST(HorovodEngine, AddsGradientsWithAdasum) {
  TUTTI_EXPECT_RANKS(
      2,
      [](const Communicator& comm) {
        const Engine engine(comm);
        // Orthogonal gradients are added, equal ones are averaged.
        std::vector<float> orthogonal = {comm.rank() == 0 ? 2.0F : 0.0F, comm.rank() == 0 ? 0.0F : 3.0F};
        std::vector<float> equal = {4.0F, 5.0F};
        const Handle one = engine.allreduce("o", orthogonal, orthogonal, {.op = ReduceOp::adasum});
        const Handle two = engine.allreduce("e", equal, equal, {.op = ReduceOp::adasum});
        one.wait();
        two.wait();
        EXPECT_EQ(orthogonal, (std::vector<float>{2.0F, 3.0F}));
        EXPECT_EQ(equal, (std::vector<float>{4.0F, 5.0F}));
      },
      on_engine());
}

/// The bytes of the inner backend's operations by rank, as observers are told.
class Observed final : public Observer {
 public:
  using Observer::on;
  void on(const InnerOperation& operation) noexcept override {
    const std::scoped_lock lock(mutex_);
    bytes_[operation.rank].push_back(operation.bytes);
    parts_ += operation.rank == 0 ? operation.parts : 0;
    if (operation.begin_ns > operation.end_ns) ++mistakes_;
    if (!batches_.insert(operation.batch).second) ++mistakes_;  // these responses are not cut into pieces
  }

  std::map<int, std::vector<std::uint64_t>> bytes_;
  std::set<std::uint64_t> batches_;
  std::uint64_t parts_ = 0;
  int mistakes_ = 0;

 private:
  std::mutex mutex_;
};

constexpr std::uint64_t kThreshold = 64 << 10;

/// Runs the engine of one rank; all ranks have submitted all tensors when the first round begins.
void reduce_all(const Rendezvous& meeting, std::span<const std::size_t> order, std::barrier<>& submitted,
                std::vector<std::uint64_t>& counts, int steps) {
  const int ranks = meeting.size();
  SetEngine engine = make_set_engine(
      meeting,
      {.controller = {.local_size = ranks, .parameters = {.fusion_threshold = kThreshold, .cycle_ns = 1'000'000}}},
      [&](const Operation& operation) {
        if (operation.kind == OpKind::allreduce) counts.push_back(operation.count);
      });
  std::vector<std::vector<float>> buffers(order.size());
  for (int step = 0; step < steps; ++step) {
    std::vector<EntryPointer> entries;
    for (const std::size_t tensor : order) {
      buffers[tensor].assign(100 + tensor * 53 % 4000, 1.0F);
      EntryPointer entry = allreduce_entry(std::to_string(tensor), buffers[tensor]);
      engine.enqueue({&entry, 1}, true);
      entries.push_back(std::move(entry));
    }
    submitted.arrive_and_wait();
    for (const EntryPointer& entry : entries) {
      EXPECT_TRUE(engine.wait(*entry, spi::Deadline::max()));
      EXPECT_FALSE(entry->error.has_value());
    }
    for (const auto& buffer : buffers) EXPECT_EQ(buffer.back(), static_cast<float>(ranks));
  }
}

TEST(HorovodEngine, FusesByTheRuleWhateverTheOrderOfTheRanks) {
  constexpr int kRanks = 3;
  constexpr std::size_t kTensors = 100;
  constexpr int kSteps = 3;
  std::barrier submitted(kRanks);
  std::vector<std::vector<std::uint64_t>> counts(kRanks);
  const std::vector<Rendezvous> meetings = local_rendezvous(kRanks);
  Observed observed;
  {
    const ObserverHandle handle = add_observer(observed);
    std::vector<std::jthread> ranks;
    for (int rank = 0; rank < kRanks; ++rank) {
      ranks.emplace_back([&, rank] {
        const auto order = shuffled(kTensors, static_cast<unsigned>(rank) + 1);
        reduce_all(meetings[static_cast<std::size_t>(rank)], order, submitted, counts[static_cast<std::size_t>(rank)],
                   kSteps);
      });
    }
  }
  // A tensor is complete when the last rank's request is read, so that rank's order is the order of the responses.
  std::vector<Response> single;
  for (const std::size_t tensor : shuffled(kTensors, kRanks)) {
    Response& response = single.emplace_back();
    response.names = {std::to_string(tensor)};
    response.counts = {100 + tensor * 53 % 4000};
    response.type = DataType::float32;
  }
  std::vector<std::uint64_t> expected;
  for (const Response& fused : fuse(single, {.threshold = rounded_threshold(kThreshold, kRanks, true)})) {
    expected.push_back(fused.bytes() / sizeof(float));
  }
  EXPECT_LT(expected.size(), kTensors / 2);
  std::vector<std::uint64_t> all_steps;
  for (int step = 0; step < kSteps; ++step) all_steps.insert(all_steps.end(), expected.begin(), expected.end());
  for (const auto& of_rank : counts) EXPECT_EQ(of_rank, all_steps);
  std::vector<std::uint64_t> all_bytes;
  for (const std::uint64_t count : all_steps) all_bytes.push_back(count * sizeof(float));
  for (int rank = 0; rank < kRanks; ++rank) EXPECT_EQ(observed.bytes_[rank], all_bytes) << rank;
  EXPECT_EQ(observed.parts_, kTensors * kSteps);
  EXPECT_EQ(observed.mistakes_, 0);
}

}  // namespace
}  // namespace tutti::horovod
