// Priorities, and tensors that are cut into parts; ranks are threads, over the native engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "set_engines.hpp"
#include "support/rank_threads.hpp"
#include "tutti/horovod.hpp"

namespace tutti::horovod {
namespace {

test::RankOptions with(const std::string& partition, const std::string& priority = "given") {
  test::RankOptions options;
  options.communicator.config.set("TUTTI_BACKEND", "horovod:native");
  options.communicator.config.set("TUTTI_HOROVOD_PARTITION", partition);
  options.communicator.config.set("TUTTI_HOROVOD_PRIORITY", priority);
  return options;
}

SetEngine::Options parts_of(std::uint64_t bytes) {
  return {.controller = {.parameters = {.fusion_threshold = 1 << 20, .partition = bytes, .cycle_ns = 1'000'000}}};
}

/// Submits a long tensor, and an urgent one as soon as the third part of the long one begins. Returns the lengths of
/// the inner backend's operations and the order of completion.
struct Course {
  std::vector<std::uint64_t> counts;
  std::vector<std::string> completed;
};
Course overtake(const Rendezvous& meeting) {
  Course run;
  std::vector<float> large(1000, 1.0F);
  std::vector<float> small(7, 2.0F);
  std::vector<float> other(99, 3.0F);  // does not fit into one operation with the urgent one
  const EntryPointer first = allreduce_entry("large", large);
  const EntryPointer urgent = allreduce_entry("urgent", small);
  const EntryPointer late = allreduce_entry("late", other);
  urgent->request.priority = 1;
  for (const EntryPointer& entry : {first, urgent, late})
    entry->callback = [&run, name = entry->request.name](const Error*) { run.completed.push_back(name); };
  SetEngine* running = nullptr;
  SetEngine engine = make_set_engine(meeting, parts_of(400), [&](const Operation& operation) {
    run.counts.push_back(operation.count);
    if (run.counts.size() == 3) running->enqueue(std::array{late, urgent}, true);
  });
  running = &engine;
  engine.enqueue({&first, 1}, true);
  for (const EntryPointer& entry : {first, urgent, late}) {
    EXPECT_TRUE(engine.wait(*entry, spi::Deadline::max()));
    EXPECT_FALSE(entry->error.has_value());
  }
  EXPECT_EQ(large, std::vector<float>(1000, 2.0F));
  EXPECT_EQ(small, std::vector<float>(7, 4.0F));
  EXPECT_EQ(other, std::vector<float>(99, 6.0F));
  return run;
}

TEST(HorovodOrder, AnUrgentTensorOvertakesThePartsOfALongOne) {
  const std::vector<Rendezvous> meetings = local_rendezvous(2);
  std::vector<Course> runs(2);
  {
    std::vector<std::jthread> ranks;
    for (std::size_t rank = 0; rank < 2; ++rank)
      ranks.emplace_back([&, rank] { runs[rank] = overtake(meetings[rank]); });
  }
  for (const Course& run : runs) {
    // The ranks look for tensors after each part; those of the first two parts were too early.
    EXPECT_EQ(run.counts, (std::vector<std::uint64_t>{100, 100, 100, 7, 100, 100, 100, 100, 100, 100, 100, 99}));
    EXPECT_EQ(run.completed, (std::vector<std::string>{"urgent", "large", "late"}));
  }
}

/// Two steps of a backward pass; the lengths of the inner backend's operations.
std::vector<std::uint64_t> train(const Rendezvous& meeting, std::barrier<>& submitted) {
  std::vector<std::uint64_t> counts;
  SetEngine::Options options = parts_of(400);
  options.controller.layers_first = true;
  SetEngine engine =
      make_set_engine(meeting, options, [&](const Operation& operation) { counts.push_back(operation.count); });
  std::vector<std::vector<float>> layers;  // the last one first; no two of them fit into one operation
  for (const std::size_t count : {93, 92, 91, 90}) layers.emplace_back(count, 1.0F);
  for (int step = 0; step < 2; ++step) {
    std::vector<EntryPointer> entries;
    for (auto& layer : layers) {
      entries.push_back(allreduce_entry("layer" + std::to_string(layer.size()), layer));
      engine.enqueue({&entries.back(), 1}, true);
      // One after the other at first.
      if (step == 0) {
        EXPECT_TRUE(engine.wait(*entries.back(), spi::Deadline::max()));
      }
    }
    submitted.arrive_and_wait();
    for (const EntryPointer& entry : entries) EXPECT_TRUE(engine.wait(*entry, spi::Deadline::max()));
  }
  return counts;
}

TEST(HorovodOrder, TheFirstLayersGoFirst) {
  const std::vector<Rendezvous> meetings = local_rendezvous(2);
  std::barrier submitted(2);
  std::vector<std::vector<std::uint64_t>> counts(2);
  {
    std::vector<std::jthread> ranks;
    for (std::size_t rank = 0; rank < 2; ++rank)
      ranks.emplace_back([&, rank] { counts[rank] = train(meetings[rank], submitted); });
  }
  for (const auto& of_rank : counts) EXPECT_EQ(of_rank, (std::vector<std::uint64_t>{93, 92, 91, 90, 90, 91, 92, 93}));
}

Request request(const std::string& name, std::int32_t priority = 0) {
  Request request;
  request.name = name;
  request.type = DataType::float32;
  request.shape = {10};
  request.priority = priority;
  return request;
}

std::vector<std::string> names_after(Controller& controller, const std::vector<Request>& requests) {
  std::vector<RoundMessage> messages(2);
  for (RoundMessage& message : messages) message.received = requests;
  std::vector<std::string> names;
  for (const Response& response : controller.decide(messages).responses)
    names.insert(names.end(), response.names.begin(), response.names.end());
  return names;
}

TEST(HorovodOrder, OfLayersIsThatOfTheirFirstStep) {
  // Without a cache, too.
  for (const std::size_t capacity : {std::size_t{0}, std::size_t{100}}) {
    Controller controller({.size = 2, .cache_capacity = capacity, .layers_first = true});
    EXPECT_EQ(names_after(controller, {request("c")}), std::vector<std::string>{"c"});
    EXPECT_EQ(names_after(controller, {request("b"), request("a")}), (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(names_after(controller, {request("c"), request("b"), request("a")}),
              (std::vector<std::string>{"a", "b", "c"}));
    if (capacity == 0) continue;
    std::vector<RoundMessage> hits(2);
    for (RoundMessage& message : hits) message.hits = {7};
    std::vector<std::string> names;
    for (const Response& response : controller.decide(hits).responses) names.push_back(response.names.front());
    EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c"}));
  }
}

TEST(HorovodOrder, GivenPrioritiesGoFirstAndMustAgree) {
  Controller controller({.size = 2, .parameters = {.fusion_threshold = 0}});
  EXPECT_EQ(names_after(controller, {request("a"), request("b", 2), request("c", -1), request("d", 2)}),
            (std::vector<std::string>{"b", "d", "a", "c"}));
  EXPECT_EQ(disagreement(request("a", 1), request("a", 2)),
            "Mismatched priorities: One rank specified priority 1, but another rank specified priority 2.");
  EXPECT_EQ(controller.cache().find(request("b", 2)).state, ResponseCache::State::hit);
  EXPECT_EQ(controller.cache().find(request("b", 1)).state, ResponseCache::State::invalid);
}

TEST(HorovodOrder, LongTensorsAreCutIntoParts) {
  Response whole;
  whole.type = DataType::float32;
  whole.names = {"a", "b", "c", "d"};
  whole.counts = {5, 25, 3, 4};
  EXPECT_EQ(pieces_of(whole, 1 << 20, 40),
            (std::vector<Piece>{{0, 1, 5}, {1, 2, 10, 0}, {1, 2, 10, 10}, {1, 2, 5, 20}, {2, 4, 7}}));
  EXPECT_EQ(pieces_of(whole, 1 << 20, 1).size(), 37u);  // an element is the least
  whole.counts = {0, 0, 0, 0};
  EXPECT_EQ(pieces_of(whole, 1 << 20, 1), (std::vector<Piece>{{0, 4, 0}}));
  Controller controller({.size = 1, .parameters = {.fusion_threshold = 1 << 20, .partition = 4000}});
  EXPECT_EQ(controller.fusion_rule().threshold, 4000u);
}

/// Tensors of many kinds and sizes in an order of each rank's own, then a join.
void mix(const Communicator& comm) {
  const Engine engine(comm);
  constexpr std::size_t kTensors = 40;
  std::mt19937 random(static_cast<unsigned>(comm.rank()));
  std::vector<std::vector<double>> data(kTensors);
  const int sum = comm.size() * (comm.size() + 1) / 2;
  for (int step = 0; step < 4; ++step) {
    std::vector<std::size_t> order(kTensors);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Handle> handles(kTensors);
    for (const std::size_t i : order) {
      data[i].assign(1 + i * 97 % 1500, comm.rank() + 1.0);
      TensorOptions options{.op = ReduceOp::sum, .priority = static_cast<int>(i % 5)};
      if (i % 4 == 1) options.compression = Compression::float16;
      if (i % 4 == 2) options.prescale = 2.0;
      const std::string name = "t" + std::to_string(i);
      handles[i] = i % 7 == 0 ? engine.allgather(name, data[i], {}, {.priority = options.priority})
                              : engine.allreduce(name, data[i], data[i], options);
    }
    std::int32_t one = 1;
    comm.allreduce(Buffer(&one, 1));  // in between, by tutti's own interface
    EXPECT_EQ(one, comm.size());
    for (std::size_t i = 0; i < kTensors; ++i) {
      handles[i].wait();
      if (i % 7 == 0) {
        EXPECT_EQ(handles[i].output_as<double>().back(), comm.size());
        continue;
      }
      EXPECT_EQ(data[i], std::vector<double>(data[i].size(), sum * (i % 4 == 2 ? 2.0 : 1.0))) << i;
    }
    std::vector<double> wrong(static_cast<std::size_t>(600 + comm.rank()));
    if (comm.size() > 1) {
      EXPECT_THROW(engine.allreduce("wrong", wrong, wrong).wait(), Error);
    }
    // Ranks that have joined contribute zeros to the parts, too.
    for (int more = 0; more <= comm.rank(); ++more) {
      data[0].assign(1000, 1.0);
      engine.allreduce("uneven", data[0], data[0], {.op = ReduceOp::sum}).wait();
      EXPECT_EQ(data[0], std::vector<double>(1000, comm.size() - more));
    }
    EXPECT_EQ(engine.join(), comm.size() - 1);
  }
}

TEST(HorovodOrder, PartsGiveTheSameResults) {
  for (const int ranks : {1, 2, 3}) TUTTI_EXPECT_RANKS(ranks, mix, with("2000"));
  TUTTI_EXPECT_RANKS(2, mix, with("1", "layers"));
}

TEST(HorovodOrder, ShutdownEndsTensorsThatHaveBeenBegunInParts) {
  std::vector<Communicator> group = local_group(2, with("64").communicator);
  std::vector<std::vector<float>> data(2, std::vector<float>(1 << 18, 1.0F));
  std::atomic<int> ended = 0;
  const TensorOptions options{.callback = [&](const Error*) { ++ended; }};
  const Handle one = Engine(group[0]).allreduce("t", data[0], data[0], options);
  const Handle two = Engine(group[1]).allreduce("t", data[1], data[1], options);
  group[1] = {};
  try {
    one.wait();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Horovod has been shut down."), std::string::npos) << error.what();
  }
  group[0] = {};
  while (ended < 2) std::this_thread::yield();
}

}  // namespace
}  // namespace tutti::horovod
