#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profile_builder.hpp"
#include "sinks/breakdown.hpp"

namespace tutti::profiling {
namespace {

using nlohmann::json;
using test::ProfileBuilder;
using test::statistics;

/// Two ranks that call allreduce of 64 B three times, rank 1 later by 100 ns each time; a call outside of operations.
ProfileBuilder example() {
  ProfileBuilder build;
  const int source = build.source("BACKEND_MPI", 3);
  const int context = build.context("allreduce", 64, "mpi", "gradients");
  for (int rank = 0; rank < 2; ++rank) {
    const int process = build.process("n1", 10 + static_cast<std::uint32_t>(rank), rank);
    const int communicator = build.communicator(7, process, rank, 2);
    const std::uint64_t late = rank == 1 ? 100 : 0;
    build.row(Kind::operation, source, process, 1, "allreduce", statistics({500 - late, 500 - late, 500 - late}, 1))
        .context = context;
    build.row(Kind::host, source, process, 1, "MPI_Allreduce", statistics({300, 300, 300}, 1)).context = context;
    for (std::uint64_t i = 0; i < 3; ++i) {
      const std::uint32_t name = build.name("allreduce");
      EventRow& event = build.event(Kind::operation, process, 1, 1000 * i + 1000 + late, 1000 * i + 1500);
      event.communicator = communicator;
      event.sequence = i;
      event.name = name;
      event.context = context;
      event.bytes = 64;
    }
    ProcessRow& row = build.profile.processes.back();
    row.records = 200;
    row.cost_ns = 50;
    row.begin_ns = 1000;
    row.end_ns = 101'000;
    row.resident_peak = rank == 0 ? 1 << 20 : 0;
  }
  build.row(Kind::host, source, 0, 1, "MPI_Init", statistics({700}));
  build.profile.memory.push_back({.owner = "native",
                                  .source = source,
                                  .process = 0,
                                  .device = -1,
                                  .allocations = 2,
                                  .allocated_bytes = 300,
                                  .releases = 1,
                                  .released_bytes = 100,
                                  .peak_bytes = 200});
  return build;
}

json tables(const Profile& profile, const std::vector<SplitBy>& by = {SplitBy::operation, SplitBy::size}) {
  return json::parse(session_json(profile, {}, by)).at("tutti");
}

TEST(TablesJson, KeepsTheKeysOfIprof) {
  const ProfileBuilder build = example();
  json document = json::parse(session_json(build.profile, {}));
  EXPECT_EQ(document.at("host").at("3").at("data").at("MPI_Allreduce").at("call"), 8);
  document.erase("tutti");
  EXPECT_EQ(document, json::parse(tally_json(build.profile)));
  EXPECT_EQ(std::ranges::count(session_json(build.profile, {}), '\n'), 1);
}

TEST(TablesJson, OperationsBySize) {
  const json operations = tables(example().profile).at("operations");
  ASSERT_EQ(operations.size(), 2U);
  const json& allreduce = operations.at(0);
  EXPECT_EQ(allreduce.at("op"), "allreduce");
  EXPECT_EQ(allreduce.at("size"), 64);
  EXPECT_EQ(allreduce.at("calls"), 8);
  EXPECT_EQ(allreduce.at("time"), 2700);
  EXPECT_EQ(allreduce.at("average"), 450.0);
  EXPECT_EQ(allreduce.at("min"), 400);
  EXPECT_EQ(allreduce.at("max"), 500);
  EXPECT_EQ(allreduce.at("host_calls"), 8);
  EXPECT_EQ(allreduce.at("host_time"), 1800);
  EXPECT_EQ(allreduce.at("errors"), 4);
  EXPECT_NEAR(allreduce.at("p99").get<double>(), 500, 500.0 / 8);
  const json& others = operations.at(1);
  EXPECT_TRUE(others.at("op").is_null());
  EXPECT_TRUE(others.at("size").is_null());
  EXPECT_EQ(others.at("host_time"), 700);
  EXPECT_FALSE(others.contains("p50")) << "no operation has no percentiles";
}

TEST(TablesJson, OperationsByOtherFields) {
  const json operations =
      tables(example().profile, {SplitBy::rank, SplitBy::caller, SplitBy::backend, SplitBy::region}).at("operations");
  EXPECT_EQ(operations.at(0).at("rank"), 0);
  EXPECT_EQ(operations.at(0).at("caller"), "gradients");
  EXPECT_EQ(operations.at(0).at("backend"), "mpi");
  EXPECT_TRUE(operations.at(0).at("region").is_null());
}

TEST(TablesJson, ArrivalsNameTheLateRank) {
  const json arrivals = tables(example().profile).at("arrivals");
  ASSERT_EQ(arrivals.size(), 1U);
  const json& world = arrivals.at(0);
  EXPECT_EQ(world.at("communicator"), "world");
  EXPECT_EQ(world.at("compared"), 3);
  EXPECT_EQ(world.at("incomplete"), 0);
  EXPECT_EQ(world.at("ranks").at(1).at("rank"), 1);
  EXPECT_EQ(world.at("ranks").at(1).at("last"), 3);
  EXPECT_EQ(world.at("ranks").at(1).at("others_waited"), 300);
  EXPECT_EQ(world.at("ranks").at(0).at("waited"), 300);
  EXPECT_EQ(world.at("operations").at(0).at("op"), "allreduce");
  EXPECT_EQ(world.at("operations").at(0).at("last"), json({{"1", 3}}));
}

TEST(TablesJson, MemoryCostAndWarnings) {
  ProfileBuilder build = example();
  build.profile.warnings.emplace_back("a \x01 file\xff");
  const json all = tables(build.profile);
  const json& owner = all.at("memory").at("owners").at(0);
  EXPECT_EQ(owner.at("owner"), "native");
  EXPECT_EQ(owner.at("place"), "host");
  EXPECT_EQ(owner.at("held"), 200);
  EXPECT_EQ(owner.at("peak"), 200);
  ASSERT_EQ(all.at("memory").at("resident").size(), 1U);
  EXPECT_EQ(all.at("memory").at("resident").at(0).at("peak"), 1 << 20);
  ASSERT_EQ(all.at("cost").size(), 2U);
  EXPECT_EQ(all.at("cost").at(1).at("rank"), 1);
  EXPECT_EQ(all.at("cost").at(1).at("time"), 10'000.0);
  EXPECT_EQ(all.at("cost").at(1).at("run"), 100'000.0);
  EXPECT_EQ(all.at("warnings").size(), 1U);
  EXPECT_EQ(all.at("overlap").at(0).at("asynchronous"), 0);
  EXPECT_TRUE(all.at("overlap").at(0).at("free_time").is_null()) << "no single calls were recorded";
}

TEST(TablesJson, OfNothing) {
  const json all = tables(Profile{});
  for (const char* key : {"operations", "arrivals", "overlap", "cost", "warnings"}) {
    EXPECT_TRUE(all.at(key).is_array() && all.at(key).empty()) << key;
  }
}

TEST(TablesJson, OfADamagedProfile) {
  ProfileBuilder build;
  TallyRow& row = build.row(Kind::operation, 9, 9, 1, "x\x1b\xff", statistics({1}));
  row.context = 1000;
  row.device = 1000;
  EXPECT_EQ(tables(build.profile, {SplitBy::operation, SplitBy::rank, SplitBy::device}).at("operations").size(), 1U);
}

}  // namespace
}  // namespace tutti::profiling
