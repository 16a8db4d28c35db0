// The parts of the negotiation, without communication.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "negotiation/controller.hpp"
#include "negotiation/fusion.hpp"
#include "negotiation/message.hpp"
#include "negotiation/response_cache.hpp"
#include "tutti/error.hpp"

namespace tutti::horovod {
namespace {

Request request(const std::string& name, std::int64_t count, DataType type = DataType::float32) {
  Request request;
  request.name = name;
  request.type = type;
  request.shape = {count};
  return request;
}

Response response(const std::string& name, std::uint64_t count, DataType type = DataType::float32) {
  Response response;
  response.names = {name};
  response.counts = {count};
  response.type = type;
  return response;
}

RoundMessage message_of(std::vector<Request> requests) {
  RoundMessage message;
  message.received = std::move(requests);
  return message;
}

std::vector<Response> decide(Controller& controller, std::vector<RoundMessage> messages) {
  return controller.decide(messages).responses;
}

Controller make_controller(int size, std::uint64_t threshold = 1 << 20) {
  return Controller({.rank = 0, .size = size, .parameters = {.fusion_threshold = threshold, .cycle_ns = 1000}});
}

TEST(Message, SurvivesTheWire) {
  Request one = request("a \"quoted\"\nname", 7, DataType::bfloat16);
  one.kind = MessageKind::alltoall;
  one.splits = {3, 4};
  one.group = "g";
  one.group_size = 2;
  one.prescale = 0.5;
  RoundMessage message;
  message.shutdown = true;
  message.has_parameters = true;
  message.parameters = {.fusion_threshold = 5, .cycle_ns = 6, .cache = false};
  message.hits = {1, std::uint64_t{1} << 63};
  message.invalid = {9};
  message.requests = {&one};
  std::vector<std::byte> bytes;
  serialize(message, bytes);
  const RoundMessage read = parse(bytes);
  EXPECT_TRUE(read.shutdown);
  EXPECT_EQ(read.parameters, message.parameters);
  EXPECT_EQ(read.hits, message.hits);
  EXPECT_EQ(read.invalid, message.invalid);
  ASSERT_EQ(read.received.size(), 1u);
  EXPECT_EQ(read.received[0].name, one.name);
  EXPECT_EQ(read.received[0].splits, one.splits);
  EXPECT_EQ(read.received[0].type, DataType::bfloat16);
  EXPECT_EQ(read.received[0].prescale, 0.5);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW((void)parse(std::span(bytes).first(length)), Error) << length;
  }
}

TEST(Fusion, RoundsTheThresholdAsUpstream) {
  EXPECT_EQ(rounded_threshold(1, 2, true), 2u * 8 * 64);
  EXPECT_EQ(rounded_threshold(1024, 2, true), 1024u);
  EXPECT_EQ(rounded_threshold(1025, 2, true), 2048u);
  EXPECT_EQ(rounded_threshold(1025, 2, false), 1025u);
  EXPECT_EQ(rounded_threshold(0, 2, true), 0u);
}

TEST(Fusion, LooksBehindOtherTypesWhileTheBytesPassedOverFit) {
  std::vector<Response> list;
  list.push_back(response("a", 10));
  list.push_back(response("half", 10, DataType::float16));
  list.push_back(response("b", 10));
  const auto near = fuse(list, {.threshold = 100});
  ASSERT_EQ(near.size(), 2u);
  EXPECT_EQ(near[0].names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(near[0].counts, (std::vector<std::uint64_t>{10, 10}));
  EXPECT_EQ(near[1].names, std::vector<std::string>{"half"});
  list[1].counts = {40};  // 40 + 80 bytes are more than the threshold
  EXPECT_EQ(fuse(list, {.threshold = 100}).size(), 3u);
  EXPECT_EQ(fuse(list, {.threshold = 0}).size(), 3u);
}

Response gather(const std::string& name, std::vector<std::int64_t> rows, std::uint64_t row) {
  Response one = response(name, static_cast<std::uint64_t>(rows.front()) * row);
  one.kind = MessageKind::allgather;
  one.sizes = std::move(rows);
  one.row_counts = {row};
  return one;
}

TEST(Fusion, CountsTheOutputOfAnAllgather) {
  const std::vector<Response> list = {gather("a", {1, 2}, 5), gather("b", {0, 4}, 2), gather("c", {3, 0}, 1)};
  EXPECT_EQ(list[0].bytes(), 60u);
  const auto two = fuse(list, {.threshold = 92});  // 15 + 8 elements of 4 bytes
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(two[0].sizes, (std::vector<std::int64_t>{1, 2, 0, 4}));
  EXPECT_EQ(two[0].row_counts, (std::vector<std::uint64_t>{5, 2}));
  EXPECT_EQ(two[0].bytes(), 92u);
  const auto apart = fuse(list, {.threshold = 91});
  ASSERT_EQ(apart.size(), 2u);
  EXPECT_EQ(apart[1].names, (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(pieces_of(two[0], 64), (std::vector<Piece>{{0, 1, 15}, {1, 2, 8}}));
}

TEST(Fusion, KeepsOperationsOfDifferentKindsApart) {
  Response scatter = response("s", 4);
  scatter.kind = MessageKind::reducescatter;
  scatter.sizes = {4};
  scatter.row_counts = {1};
  Response other = scatter;
  other.names = {"t"};
  Response broadcast = response("b", 4);
  broadcast.kind = MessageKind::broadcast;
  const auto fused = fuse({scatter, response("a", 4), other, broadcast, broadcast}, {.threshold = 1000});
  ASSERT_EQ(fused.size(), 4u);
  EXPECT_EQ(fused[0].names, (std::vector<std::string>{"s", "t"}));
  EXPECT_EQ(fused[0].sizes, (std::vector<std::int64_t>{4, 4}));
}

TEST(Fusion, CutsPiecesBetweenTensors) {
  Response whole = response("a", 10);
  whole.counts = {10, 10, 100, 5};
  EXPECT_EQ(pieces_of(whole, 80), (std::vector<Piece>{{0, 2, 20}, {2, 3, 100}, {3, 4, 5}}));
  EXPECT_EQ(pieces_of(whole, 0), (std::vector<Piece>{{0, 4, 125}}));
}

TEST(ResponseCache, EvictsTheLeastRecentlyUsed) {
  ResponseCache cache(2, 0);
  for (const char* name : {"a", "b"}) {
    Response entry = response(name, 4);
    entry.shape = {4};
    cache.put(entry);
  }
  const auto a = cache.find(request("a", 4));
  ASSERT_EQ(a.state, ResponseCache::State::hit);
  EXPECT_EQ(cache.find(request("a", 5)).state, ResponseCache::State::invalid);
  cache.touch(a.position);
  Response third = response("c", 4);
  third.shape = {4};
  cache.put(third);
  EXPECT_EQ(cache.find(request("b", 4)).state, ResponseCache::State::miss);
  EXPECT_EQ(cache.find(request("a", 4)).state, ResponseCache::State::hit);
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.erasures(), 1u);
}

TEST(Controller, WaitsForAllRanksAndCachesTheResponse) {
  Controller controller = make_controller(2);
  EXPECT_TRUE(decide(controller, {message_of({request("a", 4)}), message_of({request("b", 4)})}).empty());
  const auto ready = decide(controller, {message_of({request("b", 4)}), message_of({request("a", 4)})});
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].names, (std::vector<std::string>{"b", "a"}));
  const auto found = controller.cache().find(request("a", 4));
  ASSERT_EQ(found.state, ResponseCache::State::hit);
  RoundMessage hit;
  hit.hits = {std::uint64_t{1} << found.position};
  EXPECT_TRUE(decide(controller, {hit, {}}).empty());
  EXPECT_EQ(decide(controller, {hit, hit}).at(0).names, std::vector<std::string>{"a"});
  RoundMessage changed = message_of({request("a", 5)});
  changed.invalid = {found.position};
  EXPECT_TRUE(decide(controller, {hit, changed}).empty());
  EXPECT_EQ(controller.cache().find(request("a", 4)).state, ResponseCache::State::miss);
}

std::string error_of(const Request& one, const Request& other) {
  Controller controller = make_controller(2);
  const auto responses = decide(controller, {message_of({one}), message_of({other})});
  if (responses.size() != 1 || responses[0].kind != MessageKind::error) return "no error";
  return responses[0].error;
}

TEST(Controller, ReportsDisagreementsAsUpstream) {
  const Request one = request("t", 4);
  EXPECT_EQ(error_of(one, request("t", 4, DataType::int32)),
            "Mismatched data types: One rank had type float32, but another rank had type int32.");
  EXPECT_EQ(
      error_of(one, request("t", 5)),
      "Mismatched ALLREDUCE tensor shapes: One rank sent a tensor of shape [4], but another rank sent a tensor of "
      "shape [5].");
  Request other = one;
  other.kind = MessageKind::broadcast;
  EXPECT_EQ(error_of(one, other),
            "Mismatched operations: One rank did an ALLREDUCE, but another rank did an BROADCAST.");
  Request root = other;
  root.root = 1;
  EXPECT_EQ(error_of(other, root),
            "Mismatched BROADCAST root ranks: One rank specified root rank 0, but another rank specified root rank 1.");
  other = one;
  other.prescale = 0.5;
  EXPECT_EQ(error_of(one, other),
            "Mismatched prescale and/or postscale factors: One rank sent factors (1, 1), but another rank sent factors "
            "(0.5, 1).");
  EXPECT_EQ(error_of(one, one), "no error");
}

TEST(Controller, CountsRanksThatHaveJoined) {
  Controller controller = make_controller(2);
  Request join;
  join.kind = MessageKind::join;
  join.name = "join.noname";
  EXPECT_EQ(decide(controller, {message_of({request("a", 4)}), message_of({join})}).at(0).names.at(0), "a");
  EXPECT_FALSE(controller.cache().find(request("a", 4)).state == ResponseCache::State::hit);
  Request gather = request("g", 4);
  gather.kind = MessageKind::allgather;
  EXPECT_EQ(decide(controller, {message_of({gather}), {}}).at(0).kind, MessageKind::error);
  const auto all = decide(controller, {message_of({join}), {}});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, MessageKind::join);
  EXPECT_EQ(all[0].last_joined, 0);
  EXPECT_EQ(controller.table().joined(), 0);
}

TEST(Controller, KeepsGroupsTogether) {
  Controller controller = make_controller(2);
  Request a = request("a", 4);
  a.group = "a";
  a.group_size = 2;
  Request b = a;
  b.name = "b";
  EXPECT_TRUE(decide(controller, {message_of({a, b}), message_of({b})}).empty());
  const auto both = decide(controller, {{}, message_of({a})});
  ASSERT_EQ(both.size(), 1u);
  EXPECT_EQ(both[0].names, (std::vector<std::string>{"b", "a"}));
  // From the cache they come together, too.
  RoundMessage only_a;
  only_a.hits = {std::uint64_t{1} << controller.cache().find(a).position};
  EXPECT_TRUE(decide(controller, {only_a, only_a}).empty());
  RoundMessage hits = only_a;
  hits.hits[0] |= std::uint64_t{1} << controller.cache().find(b).position;
  EXPECT_EQ(decide(controller, {hits, hits}).at(0).names.size(), 2u);
}

}  // namespace
}  // namespace tutti::horovod
